"""Dialects: how agent frameworks record what they do, as tables, and one way to read them all."""

from tracejury.dialects.plan import DIALECTS, is_read
from tracejury.dialects.resolve import Fields, resolve

__all__ = ["DIALECTS", "Fields", "is_read", "resolve"]
