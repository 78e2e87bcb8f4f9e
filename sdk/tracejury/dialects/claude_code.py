"""Claude Code."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="claude_code",
    label="Claude Code",
    scopes=("com.anthropic.claude_code",),
    prefixes=("claude_code.",),
)
