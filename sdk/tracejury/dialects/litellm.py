"""LiteLLM."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="litellm",
    label="LiteLLM",
    scopes=("litellm",),
    prefixes=("litellm.",),
)
