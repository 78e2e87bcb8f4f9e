"""Gemini CLI."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="gemini_cli",
    label="Gemini CLI",
    scopes=("gemini-cli",),
    prefixes=("gemini_cli.",),
)
