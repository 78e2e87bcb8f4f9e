"""Calls about pass rates, and about evaluators held to labels."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.client.call import call
from tracejury.client.request import Request, get, get_items
from tracejury.rest import Agreement, PassRates


class RateCalls:
    """What passes, and how far that can be trusted."""

    @call
    def pass_rates(
        self,
        *,
        by: Sequence[str] = (),
        since: str | None = None,
        until: str | None = None,
        bucket: str | None = None,
        rule: str | None = None,
        evaluator: str | None = None,
        service: str | None = None,
        project: str | None = None,
        limit: int = 1000,
    ) -> Request[PassRates]:
        """Return pass rates by rule, evaluator and what `by` names besides."""
        params = {
            "by": ",".join(by) or None,
            "since": since,
            "until": until,
            "bucket": bucket,
            "rule": rule,
            "evaluator": evaluator,
            "service": service,
            "project": project,
            "limit": limit,
        }
        return get("/api/pass-rates", PassRates, params)

    @call
    def agreement(
        self,
        *,
        evaluator: str | None = None,
        label: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Request[list[Agreement]]:
        """Return how evaluators agree with labels, for each pair of names that has traces."""
        params = {"evaluator": evaluator, "label": label, "since": since, "until": until}
        return get_items("/api/agreement", Agreement, params)
