"""Alerts: conditions looked at on a schedule, what follows from them, and messages to webhooks."""
