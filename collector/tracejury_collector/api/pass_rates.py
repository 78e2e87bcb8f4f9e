"""Pass rates: how much of the traffic passes."""

from __future__ import annotations

import time
from typing import Annotated, Any, cast, get_args

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest import Excluded, Part, PassRate, PassRates
from tracejury.view import rfc3339
from tracejury_collector.api.access import CallerIs, own_project
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.api.times import parse_duration, parse_time
from tracejury_collector.errors import MalformedRequest
from tracejury_collector.store import pass_rates as store
from tracejury_collector.store.pass_rates import KEYS, Key, PassRateFilter

MAX_RATES = 10_000

router = APIRouter(tags=["rates"])


class PassRateQuery(BaseModel):
    """Which pass rates, and what divides them; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid")

    by: str = Field(
        default="rule,evaluator",
        max_length=200,
        description=f"what divides the rates, with commas between: {', '.join(get_args(Key))}; "
        "rule and evaluator always do",
        examples=["service,bucket"],
    )
    since: str | None = Field(
        default=None, description="decided then or later: RFC 3339, or 90m, 6h, 2d ago"
    )
    until: str | None = Field(default=None, description="decided before: RFC 3339, or 90m ago")
    bucket: str = Field(
        default="1h", description="length of a time bucket, from 1970 in UTC: 15m, 1h, 1d"
    )
    rule: str | None = Field(default=None, description="only this rule")
    evaluator: str | None = Field(default=None, description="only this evaluator")
    service: str | None = Field(default=None, description="only this service.name")
    project: str | None = Field(default=None, description="only this project")
    limit: int = Field(default=1000, ge=1, le=MAX_RATES, description="most rates to answer")


@router.get("/api/pass-rates", responses=problems(400, 422), response_model_exclude_unset=True)
def list_pass_rates(
    context: Context, caller: CallerIs, query: Annotated[PassRateQuery, Query()]
) -> PassRates:
    """Estimate how much of the live traffic passes, with 95 % intervals."""
    found = store.pass_rates(
        context.db, _filter(query, own_project(caller, query.project), time.time_ns())
    )
    items = [_shown(rate) for rate in found[: query.limit]]
    return PassRates(items=items, next_cursor=None, truncated=len(found) > query.limit)


def _filter(query: PassRateQuery, project: str | None, now_ns: int) -> PassRateFilter:
    """Return the filter for one rate more than is shown."""
    return PassRateFilter(
        keys=_keys(query.by),
        since_ns=parse_time(query.since, "since", now_ns) if query.since else None,
        until_ns=parse_time(query.until, "until", now_ns) if query.until else None,
        bucket_ns=parse_duration(query.bucket, "bucket"),
        rule=query.rule,
        evaluator=query.evaluator,
        service=query.service,
        project=project,
        limit=query.limit + 1,
    )


def _keys(by: str) -> list[Key]:
    names = [name.strip() for name in by.split(",") if name.strip()]
    if unknown := [name for name in names if name not in KEYS]:
        raise MalformedRequest(f"by: {unknown[0]!r} is no key; use some of {', '.join(KEYS)}")
    return cast(list[Key], names)


def _shown(rate: store.PassRate) -> PassRate:
    keys: dict[str, Any] = {str(key): value for key, value in rate.keys.items()}
    if keys.get("bucket") is not None:
        keys["bucket"] = rfc3339(keys["bucket"])
    share = rate.estimate.share if rate.estimate else None
    return PassRate(
        **keys,
        fingerprint=rate.fingerprint,
        criteria_hash=rate.criteria_hash,
        pass_rate=share.value if share else None,
        low=share.low if share else None,
        high=share.high if share else None,
        mean_score=rate.mean_score,
        judged=rate.judged,
        passed=rate.passed,
        effective_n=rate.estimate.effective_n if rate.estimate else None,
        traffic=rate.traffic,
        sampled_out=rate.sampled_out,
        excluded=_excluded(rate),
        first_decided_at=rfc3339(rate.first_decided_ns) or "",
        last_decided_at=rfc3339(rate.last_decided_ns) or "",
    )


def _excluded(rate: store.PassRate) -> Excluded:
    count = sum(rate.excluded.values())
    wanted = max(1, count + rate.judged)
    return Excluded(
        count=count,
        share=count / wanted,
        reasons={name: Part(count=n, share=n / wanted) for name, n in rate.excluded.items()},
    )
