"""What must not be stored, taken out of texts and data."""

from __future__ import annotations

from tracejury_collector.redaction.encoded import Base64
from tracejury_collector.redaction.redactor import MARKER, NOTHING, Found, Redactor

__all__ = ["MARKER", "NOTHING", "Base64", "Found", "Redactor"]
