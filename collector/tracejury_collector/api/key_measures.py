"""What /metrics tells of keys, and of requests that were refused because of who made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from prometheus_client.core import Metric

from tracejury_collector.api.context import ApiContext
from tracejury_collector.errors import Unavailable
from tracejury_collector.keys.ring import REASONS
from tracejury_collector.metrics import counter, gauge, gauges


def key_metrics(context: ApiContext) -> Iterator[Metric]:
    """Yield the keys by state, and the refusals by port and reason."""
    ports = {"api": context.keys.refusals.counts, "otlp": context.refused_by_receivers()}
    yield counter(
        "tracejury_requests_refused",
        "Requests refused because of who made them, since the store started: without a key that "
        "counts, without its scope, under a foreign host, by a page of another origin.",
        ["port", "reason"],
        {(port, why): counts.get(why, 0) for port, counts in ports.items() for why in REASONS},
    )
    now = datetime.now(UTC)
    try:
        states = Counter[tuple[str, ...]]((key.state(now),) for key in context.keys.in_force())
    except Unavailable:
        states = Counter()
    yield gauges(
        "tracejury_keys",
        "Keys by whether they count.",
        ["state"],
        {(state,): states[(state,)] for state in ("active", "expired", "revoked")},
    )
    yield gauge(
        "tracejury_keys_stale",
        "1 while the file of keys cannot be read, and the keys stay as they were.",
        float(context.keys.is_stale),
    )
