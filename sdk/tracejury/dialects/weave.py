"""Weave."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="weave",
    label="Weave",
    scopes=("weave",),
    prefixes=("weave.", "wandb."),
)
