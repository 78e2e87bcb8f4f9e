"""Calls about pass rates, and about evaluators held to labels."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.client.connection import Connection
from tracejury.rest import Agreement, Page, PassRates


class RateCalls(Connection):
    """What passes, and how far that can be trusted."""

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
    ) -> PassRates:
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
        return self.get("/api/pass-rates", PassRates, params)

    def agreement(
        self,
        *,
        evaluator: str | None = None,
        label: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> list[Agreement]:
        """Return how evaluators agree with labels, for each pair of names that has traces."""
        params = {"evaluator": evaluator, "label": label, "since": since, "until": until}
        return self.get("/api/agreement", Page[Agreement], params).items
