"""LiveKit Agents."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="livekit",
    label="LiveKit Agents",
    scopes=("livekit-agents",),
    prefixes=("lk.",),
)
