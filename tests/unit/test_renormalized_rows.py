"""What counts as a change when history is read again."""

from __future__ import annotations

import pytest

from tracejury_collector.renormalizing import _changes


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [
        (0.000645, 0.0006450000000000001, None),
        (0.000645, 0.00065, "changed"),
        (0.0, 0.000645, "changed"),
        (None, 0.000645, "gained"),
        (0.000645, None, "lost"),
        (1, 2, "changed"),
        ("a", "b", "changed"),
    ],
)
def test_rounding_is_no_change(before: object, after: object, how: str | None) -> None:
    found = _changes(["cost_usd"], (before,), (after,))
    assert dict(found) == ({("cost_usd", how): 1} if how else {})
