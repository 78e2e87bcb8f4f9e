"""Sentry."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="sentry",
    label="Sentry",
    prefixes=("sentry.",),
)
