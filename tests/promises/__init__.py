"""What the service promises, each promise shown by tests of its number (docs/promises.md)."""
