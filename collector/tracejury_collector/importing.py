"""Imported files take the receiver's way into the store: the same decoder, the same append."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Literal

import duckdb
import orjson

from tracejury.dialects import active
from tracejury_collector.api.context import Encoding, Ingested, Signal
from tracejury_collector.config import Limits
from tracejury_collector.receive.otlp import Decoded, decode
from tracejury_collector.redaction import NOTHING, Redactor
from tracejury_collector.store.append import Appended, Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.statements import statement
from tracejury_collector.store.unread import UnreadLog

_STORED_AS: dict[Signal, Literal["spans", "logs"]] = {"traces": "spans", "logs": "logs"}


class Imports:
    """What is brought in from files: no more comes of it once the file has ended.

    So its traces need not wait for an ended root as long as those of agents that may be thinking.
    """

    def __init__(self, db: Database, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._db = db
        self._now_ns = now_ns
        self.last_ns = 0
        """When something was imported last."""

    def note(self, trace_ids: Iterable[str]) -> Future[None]:
        """Note that these traces were imported; resolves once that is on disk.

        Raises: Unavailable when the database is closed.
        """
        self.last_ns = self._now_ns()
        ids = {"ids": orjson.dumps(sorted(trace_ids)).decode()}

        def write(connection: duckdb.DuckDBPyConnection) -> None:
            connection.execute(statement("note_import"), ids)

        return self._db.write(write)


def make_ingest(
    appender: Appender,
    unread: UnreadLog,
    limits: Limits,
    imports: Imports,
    redactor: Redactor = NOTHING,
) -> Callable[[Signal, Encoding, bytes, str | None], Future[Ingested]]:
    """Return the function that decodes one export request and stores it."""

    def ingest(
        signal: Signal, encoding: Encoding, body: bytes, project: str | None
    ) -> Future[Ingested]:
        decoded = decode(signal, encoding, body, limits, redactor, project=project)
        if counted := active().take_unread():
            unread.add(counted)
        answer: Future[Ingested] = Future()
        if signal not in _STORED_AS:
            answer.set_result(_ingested(decoded, Appended(stored=0, duplicate=0)))
        elif decoded.table is None:
            appender.account(_STORED_AS[signal], rejected=decoded.rejected, reasons=decoded.reasons)
            answer.set_result(_ingested(decoded, Appended(stored=0, duplicate=0)))
        else:
            stored = appender.append(
                _STORED_AS[signal],
                decoded.table,
                decoded.rejected,
                decoded.redacted,
                decoded.reasons,
            )
            trace_ids = {str(one) for one in decoded.table["trace_id"].to_pylist()}

            def note(done: Future[Appended]) -> None:
                with _failing(answer):
                    ingested = _ingested(decoded, done.result())
                    noted = imports.note(trace_ids)
                    noted.add_done_callback(lambda done: _answer(answer, ingested, done))

            stored.add_done_callback(note)
        return answer

    return ingest


def _answer(answer: Future[Ingested], ingested: Ingested, noted: Future[None]) -> None:
    with _failing(answer):
        noted.result()
        answer.set_result(ingested)


@contextmanager
def _failing(answer: Future[Ingested]) -> Iterator[None]:
    """Give what is raised to whoever waits."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it is told to who asked
        answer.set_exception(error)


def _ingested(decoded: Decoded, appended: Appended) -> Ingested:
    return Ingested(
        received=appended.stored + appended.duplicate + decoded.rejected,
        stored=appended.stored,
        duplicate=appended.duplicate,
        rejected=decoded.rejected,
        message=decoded.message,
    )
