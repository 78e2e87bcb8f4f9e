"""What /metrics tells of exports and alerts."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client.core import Metric

from tracejury_collector.api.context import ApiContext
from tracejury_collector.export.exporter import NAME
from tracejury_collector.metrics import counter, gauge, gauges
from tracejury_collector.store.alerts import alert_states, count_deliveries
from tracejury_collector.store.exports import ExportMark, count_after, find_mark


def outward_metrics(context: ApiContext) -> Iterator[Metric]:
    """Yield what is told of exports and alerts."""
    yield from _export_metrics(context)
    states = alert_states(context.db)
    yield gauges(
        "tracejury_alert_firing",
        "1 while the alert fires.",
        ["alert"],
        {(name,): float(state.status == "firing") for name, state in states.items()},
    )
    yield gauges(
        "tracejury_alert_failing",
        "1 while the condition of the alert cannot be looked at.",
        ["alert"],
        {(name,): float(state.error is not None) for name, state in states.items()},
    )
    yield gauges(
        "tracejury_alert_deliveries",
        "Messages of alerts in the log of deliveries, by what became of them.",
        ["status"],
        {(status,): float(n) for status, n in count_deliveries(context.db).items()},
    )


def _export_metrics(context: ApiContext) -> Iterator[Metric]:
    mark = find_mark(context.db, NAME) or ExportMark(name=NAME, position=0)
    yield counter(
        "tracejury_export_results",
        "Exported results by what became of them: sent, rejected, dropped. Outlives restarts.",
        ["result"],
        {("sent",): mark.sent, ("rejected",): mark.rejected, ("dropped",): mark.dropped},
    )
    exporting = context.config.export.otlp.endpoint is not None
    yield gauge(
        "tracejury_export_waiting",
        "Results that the export has not come to yet.",
        count_after(context.db, mark.position) if exporting else 0,
    )
    failing_ns = time.time_ns() - mark.failing_since_ns if mark.failing_since_ns else 0
    yield gauge(
        "tracejury_export_failing_seconds",
        "For how long the receiver of the export has taken nothing.",
        max(0, failing_ns) / 1e9 if exporting else 0,
    )
