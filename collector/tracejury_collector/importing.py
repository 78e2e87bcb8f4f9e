"""Imported files take the receiver's way into the store: the same decoder, the same append."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal

from tracejury.dialects import active
from tracejury_collector.api.context import Encoding, Ingested, Signal
from tracejury_collector.config import Limits
from tracejury_collector.receive.otlp import Decoded, decode
from tracejury_collector.redaction import NOTHING, Redactor
from tracejury_collector.store.append import Appended, Appender
from tracejury_collector.store.unread import UnreadLog

_STORED_AS: dict[Signal, Literal["spans", "logs"]] = {"traces": "spans", "logs": "logs"}


def make_ingest(
    appender: Appender, unread: UnreadLog, limits: Limits, redactor: Redactor = NOTHING
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
            stored.add_done_callback(lambda done: _answer(answer, decoded, done))
        return answer

    return ingest


def _answer(answer: Future[Ingested], decoded: Decoded, done: Future[Appended]) -> None:
    error = done.exception()
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(_ingested(decoded, done.result()))


def _ingested(decoded: Decoded, appended: Appended) -> Ingested:
    return Ingested(
        received=appended.stored + appended.duplicate + decoded.rejected,
        stored=appended.stored,
        duplicate=appended.duplicate,
        rejected=decoded.rejected,
        message=decoded.message,
    )
