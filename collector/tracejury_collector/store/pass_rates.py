"""Pass rates of the live traffic, from what was decided and found on current revisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from tracejury_collector.estimates import Estimate, Moments, estimate
from tracejury_collector.store.database import Database

Key = Literal["rule", "evaluator", "project", "service", "model", "agent", "bucket"]
KEYS: tuple[Key, ...] = get_args(Key)
HOUR_NS = 3_600_000_000_000
EXCLUDED = (
    "skipped",
    "failed",
    "pending",
    "over_budget",
    "overloaded",
    "condition_failed",
    "revision_limit",
)
"""Why a target that was not sampled out has no verdict."""

_MOMENTS = tuple(field.name for field in fields(Moments))


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRateFilter:
    """Which pass rates; None does not filter. Times are those of decisions, `until_ns` excluded.

    `keys` are what the rates are divided by besides rule and evaluator; `bucket_ns` is the length
    of a time bucket, counted from 1970 in UTC.
    """

    keys: Sequence[Key] = ()
    since_ns: int | None = None
    until_ns: int | None = None
    bucket_ns: int = HOUR_NS
    rule: str | None = None
    evaluator: str | None = None
    service: str | None = None
    project: str | None = None
    limit: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRate:
    """The pass rate of one evaluator, in one version, under one rule; None where none was judged.

    `keys` hold what was asked for, `evaluator` None where a rule has not had a result yet.
    `traffic` is how many targets the rule is about, as many as were sent; `excluded` counts those
    that were not sampled out and have no verdict, by reason.
    """

    keys: Mapping[Key, Any]
    fingerprint: str | None
    criteria_hash: str | None
    estimate: Estimate | None
    mean_score: float | None
    judged: int
    passed: int
    traffic: float
    sampled_out: int
    excluded: Mapping[str, int]
    first_decided_ns: int
    last_decided_ns: int


def pass_rates(db: Database, wanted: PassRateFilter) -> list[PassRate]:
    """Return pass rates by rule, evaluator and the keys, one row for each version of an evaluator.

    Versions come in the order in which they were in force.
    """
    keys = set(wanted.keys) | {"rule", "evaluator"}
    params = {**asdict(wanted), "keys": ",".join(sorted(keys))}
    shown = [key for key in KEYS if key in keys]
    return [_pass_rate(row, shown) for row in db.rows("pass_moments", params)]


def _pass_rate(row: Mapping[str, Any], keys: Sequence[Key]) -> PassRate:
    made = Moments(**{name: row[name] for name in _MOMENTS})
    return PassRate(
        keys={key: row[key] for key in keys},
        fingerprint=row["fingerprint"],
        criteria_hash=row["criteria_hash"],
        estimate=estimate(made),
        mean_score=row["weight_scored"] / made.weight if made.judged else None,
        judged=made.judged,
        passed=row["passed"],
        traffic=row["traffic"],
        sampled_out=row["sampled_out"],
        excluded={name: row[name] for name in EXCLUDED},
        first_decided_ns=row["first_decided_at"],
        last_decided_ns=row["last_decided_at"],
    )
