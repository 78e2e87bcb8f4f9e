"""What the store tells others while it runs: results over OTLP, alerts to webhooks."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping

from tracejury_collector.alerting.checking import check_alerts
from tracejury_collector.alerting.courier import Courier
from tracejury_collector.alerting.watching import Watch
from tracejury_collector.config import AlertSpec, OtlpExportSettings
from tracejury_collector.export.exporter import Exporter
from tracejury_collector.export.itself import refuse_itself
from tracejury_collector.export.transport import open_transport
from tracejury_collector.store.alerts import ForgetWrite
from tracejury_collector.store.database import Database

_LAST_WORDS_S = 1.5
"""What others are given to answer when the service stops: what they do not is sent again."""


@contextlib.asynccontextmanager
async def exporting(
    db: Database, otlp: OtlpExportSettings, version: str, listen: Iterable[str]
) -> AsyncIterator[None]:
    """Export results meanwhile, if that is configured; then finish the request in flight.

    Raises: ConfigError for an endpoint that is one of the addresses in `listen`.
    """
    if otlp.endpoint is None:
        yield
        return
    await asyncio.to_thread(refuse_itself, otlp.endpoint, listen)
    transport = open_transport(otlp)
    stop = asyncio.Event()
    running = asyncio.create_task(Exporter(db, otlp, transport, version).run(stop), name="export")
    try:
        yield
    finally:
        stop.set()
        await _ended(running)
        await transport.close()


@contextlib.asynccontextmanager
async def watching(db: Database, alerts: Mapping[str, AlertSpec]) -> AsyncIterator[None]:
    """Look at the alerts meanwhile, and send their messages.

    Raises: ConfigError for an alert whose condition cannot be used.
    """
    check_alerts(alerts)
    webhooks = {name: spec.webhook for name, spec in alerts.items() if spec.webhook}
    forget = ForgetWrite(list(alerts), list(webhooks), time.time_ns())
    await asyncio.wrap_future(db.write(forget))
    if not alerts:
        yield
        return
    stop = asyncio.Event()
    courier = Courier(db, webhooks)
    watch = Watch(db, alerts, courier.rouse)
    running = [asyncio.create_task(part.run(stop)) for part in (watch, courier)]
    try:
        yield
    finally:
        stop.set()
        courier.rouse()
        await asyncio.gather(*(_ended(task) for task in running))


async def _ended(running: asyncio.Task[None]) -> None:
    """Wait a little for a task that was told to end, then end it."""
    await asyncio.wait([running], timeout=_LAST_WORDS_S)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
