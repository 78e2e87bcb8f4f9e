"""The built-in jury."""
