"""What judging has cost, read from the results."""

from __future__ import annotations

from dataclasses import dataclass

from tracejury_collector.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What an evaluator has cost under a rule, in all and at most for one judgement.

    `has_unpriced` says that some of its tokens have no known price; they are not in `usd`.
    """

    rule: str
    identity: str
    usd: float
    tokens: int
    most_usd: float
    most_tokens: int
    has_unpriced: bool


def spent_since(db: Database, since_ns: int) -> list[Spending]:
    """Return what was spent since then, by rule and evaluator.

    Raises: Unavailable or duckdb.Error when the database cannot be read now.
    """
    return [Spending(**row) for row in db.rows("spent_since", {"since_ns": since_ns})]
