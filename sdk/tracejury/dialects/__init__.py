"""Dialects: how agent frameworks record what they do, as tables, and one way to read them all."""

from tracejury.dialects.active import active, use_dialects
from tracejury.dialects.resolve import Fields, resolve
from tracejury.dialects.tables import BUILT_IN

__all__ = ["BUILT_IN", "Fields", "active", "resolve", "use_dialects"]
