"""The receiver's client against the real store: bytes in, rows in the database, then OK."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.helpers.otlp import encoded, logs_request_of, make_log, make_span, request_of
from tracejury_collector.config import Limits, StorageSettings
from tracejury_collector.receive.accounts import Accounts
from tracejury_collector.receive.decoding import ExportRequest
from tracejury_collector.receive.ingest import Ingest
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.otlp import Signal
from tracejury_collector.receive.store_client import StoreClient
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.lag import Lag
from tracejury_collector.store.server import ReceiverDesk, StoreServer
from tracejury_collector.store.unread import UnreadLog


async def send(ingest: Ingest, signal: Signal, body: bytes) -> bytes:
    """Send one protobuf request as a transport does."""
    request = ExportRequest(signal=signal, encoding="protobuf", body=body)
    async with ingest.admit(signal, len(body)) as reservation:
        return await ingest.export(request, reservation)


async def send_all(socket_path: str, database: Database) -> None:
    """Send the same traces and logs twice, one of the spans bad."""
    journal = Path(f"{socket_path}.journal")
    desk = ReceiverDesk(Appender(database), journal, Lag(), UnreadLog(database))
    server = StoreServer(socket_path, {"receiver": desk})
    await server.start()
    store = StoreClient(socket_path)
    await store.start()
    accounts = Accounts(store)
    ingest = Ingest(store, accounts, Limits(), Journal(journal))
    carrying = asyncio.create_task(ingest.hand_over())
    spans = [make_span(n) for n in range(1, 11)]
    spans[0].attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
    traces = encoded(request_of(*spans, make_span(11, trace_id=b"short")), "protobuf")
    for _ in range(2):
        await asyncio.gather(
            send(ingest, "traces", traces),
            send(ingest, "logs", encoded(logs_request_of(make_log()), "protobuf")),
        )
    await send(ingest, "logs", encoded(logs_request_of(make_log(trace_id=b"")), "protobuf"))
    accounts.shed("traces")
    await accounts.report()
    await ingest.drain()
    carrying.cancel()
    await store.close()
    ingest.close()
    await server.stop()


def test_what_is_acknowledged_is_in_the_database_once(tmp_path: Path) -> None:
    database = Database.open(str(tmp_path / "t.duckdb"), StorageSettings())
    try:
        asyncio.run(send_all(str(tmp_path / "store.sock"), database))
        with database.read() as cursor:
            assert cursor.execute("SELECT count(*) FROM base.spans").fetchone() == (10,)
            assert cursor.execute("SELECT count(*) FROM base.logs").fetchone() == (1,)
            first = cursor.execute(
                "SELECT name, kind, epoch_ns(start_time) FROM base.spans ORDER BY span_id LIMIT 1"
            ).fetchone()
            counted = cursor.execute("SELECT name, signal, value FROM base.counters").fetchall()
    finally:
        database.close()
    assert first == ("span 1", "llm", 1_790_000_000_000_000_000)
    counters = {(name, signal): value for name, signal, value in counted}
    assert counters["stored", "spans"] == counters["duplicate", "spans"] == 10
    assert counters["rejected", "spans"] == 2
    assert counters["shed_requests", "spans"] == 1
    assert (counters["stored", "logs"], counters["rejected", "logs"]) == (1, 1)
