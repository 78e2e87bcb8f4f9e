"""Evaluators beside labels: what both said of the same traces and sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tracejury_collector.agreement import Pair
from tracejury_collector.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledFilter:
    """Which evaluators, labels and times of results; None does not filter, `until_ns` excluded."""

    evaluator: str | None = None
    label: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Labeled:
    """One version of an evaluator, the name of a label, and what has verdicts of both."""

    evaluator: str
    fingerprint: str
    criteria_hash: str
    label: str
    pairs: Sequence[Pair]


def labeled(db: Database, wanted: LabeledFilter) -> list[Labeled]:
    """Return the pairs of verdicts by evaluator, label and version, newest label first.

    A target has one pair in each: the newest label of the name, and a live result before others.
    """
    found: dict[tuple[str, str, str, str], list[Pair]] = defaultdict(list)
    for row in db.rows("labeled_targets", asdict(wanted)):
        key = (row["evaluator"], row["fingerprint"], row["criteria_hash"], row["label"])
        found[key].append(
            Pair(
                target_id=row["target_id"],
                judged=row["judged"],
                truth=row["truth"],
                weight=row["weight"],
            )
        )
    return [
        Labeled(evaluator=e, fingerprint=f, criteria_hash=c, label=name, pairs=pairs)
        for (e, f, c, name), pairs in found.items()
    ]
