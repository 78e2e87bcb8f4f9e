"""Codex CLI."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="codex",
    label="Codex CLI",
    scopes=("codex_otel", "codex"),
)
