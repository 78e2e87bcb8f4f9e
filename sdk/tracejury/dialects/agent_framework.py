"""Microsoft Agent Framework."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="agent_framework",
    label="Microsoft Agent Framework",
    scopes=(
        "agent_framework",
        "Experimental.Microsoft.",
        "Microsoft.Agents.AI",
        "Microsoft.Extensions.AI",
    ),
)
