"""The Tracejury service."""
