"""Tracejury: a jury for agent traces."""
