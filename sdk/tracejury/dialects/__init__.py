"""Dialects: how agent frameworks record what they do, as tables, and one way to read them all."""

from tracejury.dialects.resolve import Fields, resolve

__all__ = ["Fields", "resolve"]
