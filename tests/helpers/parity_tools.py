"""Modes on tool calls (t), failed ones (e), counts (k) and outputs (o)."""

from __future__ import annotations

from tests.helpers import parity_pydantic, parity_trajectories, parity_uipath
from tests.helpers.parity import Mode

MODES: tuple[Mode, ...] = (
    *parity_trajectories.MODES,
    *parity_uipath.MODES,
    *parity_pydantic.MODES,
)
