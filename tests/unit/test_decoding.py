"""Requests that wait at the same moment are decoded together, and each for itself."""

from __future__ import annotations

import asyncio
import gc
import gzip
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.otlp import encoded, logs_request_of, make_log, make_span, request_of
from tracejury.errors import TracejuryError
from tracejury_collector.config import Limits
from tracejury_collector.errors import MalformedRequest, TooLarge, Unavailable
from tracejury_collector.receive import decoding
from tracejury_collector.receive.admission import Admission
from tracejury_collector.receive.columns import Rows
from tracejury_collector.receive.decoding import Decoder, ExportRequest, Prepared
from tracejury_collector.receive.otlp import Decoded, together

Outcome = Prepared | BaseException


def spans_request(*numbers: int, text: str = "") -> ExportRequest:
    spans = [make_span(number) for number in numbers]
    for span in spans:
        span.attributes.add(key="text").value.string_value = text
    return ExportRequest("traces", "protobuf", encoded(request_of(*spans), "protobuf"))


LOGS = ExportRequest("logs", "protobuf", encoded(logs_request_of(make_log(5)), "protobuf"))
METRICS = ExportRequest("metrics", "protobuf", b"")
BROKEN = ExportRequest("traces", "protobuf", b"\xff\xff")
TOO_LARGE = ExportRequest("traces", "protobuf", gzip.compress(bytes(5 << 20)), "gzip")
LIMITS = Limits(decompressed_bytes=4 << 20)


def decoded(
    work: Callable[[Decoder, Admission], Awaitable[None]], limit_bytes: int = 1 << 30
) -> None:
    """Do the work with a decoder."""

    async def inside() -> None:
        admission = Admission(limit_bytes=limit_bytes, wait_s=0.05)
        decoder = Decoder(LIMITS, admission)
        try:
            await work(decoder, admission)
        finally:
            decoder.close()

    asyncio.run(inside())


async def decode(decoder: Decoder, admission: Admission, request: ExportRequest) -> Prepared:
    async with admission.admit(len(request.body)) as reservation:
        return await decoder.decode(request, reservation)


def all_at_once(*requests: ExportRequest) -> list[Outcome]:
    found: list[Outcome] = []

    async def work(decoder: Decoder, admission: Admission) -> None:
        waiting = (decode(decoder, admission, request) for request in requests)
        found.extend(await asyncio.gather(*waiting, return_exceptions=True))
        assert admission.in_flight == 0

    decoded(work)
    return found


def span_ids(outcome: Outcome) -> list[str]:
    assert isinstance(outcome, Prepared)
    table = pa.ipc.open_stream(pa.py_buffer(outcome.payload)).read_all()
    assert table.num_rows == outcome.rows
    return [str(span_id) for span_id in table["span_id"].to_pylist()]


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests each making of columns took."""
    seen: list[int] = []

    def noted(requests: Sequence[Rows[Any]]) -> list[Decoded]:
        seen.append(len(requests))
        return together(requests)

    monkeypatch.setattr(decoding, "together", noted)
    return seen


def test_each_of_a_group_has_its_own_rows_and_its_own_fault(groups: list[int]) -> None:
    requests = [spans_request(1, 2), LOGS, spans_request(3), METRICS, BROKEN, TOO_LARGE]
    first, log, second, metrics, broken, large, last = all_at_once(*requests, spans_request(4))
    assert sorted(groups) == [1, 1, 2], "spans together, logs for themselves, others after a fault"
    alone = [span_ids(all_at_once(request)[0]) for request in (requests[0], requests[2])]
    assert [span_ids(first), span_ids(second)] == alone
    assert isinstance(broken, MalformedRequest)
    assert isinstance(large, TooLarge)
    assert isinstance(log, Prepared)
    assert isinstance(metrics, Prepared)
    assert (log.rows, metrics.rows, metrics.payload.nbytes) == (1, 0, 0)
    assert len(span_ids(last)) == 1


def test_a_fault_that_columns_have_costs_its_own_request_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def exhausted(requests: Sequence[Rows[Any]]) -> list[Decoded]:
        if any(len(rows) == 3 for rows in requests):
            raise MemoryError
        return together(requests)

    monkeypatch.setattr(decoding, "together", exhausted)
    first, second, third = all_at_once(
        spans_request(1), spans_request(2, 3, 4), spans_request(5, 6)
    )
    assert (len(span_ids(first)), len(span_ids(third))) == (1, 2)
    assert isinstance(second, MemoryError)


def test_projects_share_no_columns(groups: list[int]) -> None:
    asked = [spans_request(n)._replace(project=name) for n, name in enumerate("abab", start=1)]
    for outcome, name in zip(all_at_once(*asked), "abab", strict=True):
        assert isinstance(outcome, Prepared)
        table = pa.ipc.open_stream(pa.py_buffer(outcome.payload)).read_all()
        assert table["project"].to_pylist() == [name]
    assert groups == [2, 2]


def test_refused_requests_do_not_pile_up_in_memory() -> None:
    gc.collect()
    gc.disable()
    try:
        found = all_at_once(*[TOO_LARGE] * 5, *[BROKEN] * 5)
        assert [type(each) for each in found] == [TooLarge] * 5 + [MalformedRequest] * 5
        del found
        kept = [each for each in gc.get_objects() if isinstance(each, TooLarge | MalformedRequest)]
    finally:
        gc.enable()
    assert len(kept) <= 1, "the last one may be"


def test_what_rows_repeat_of_their_resource_counts(groups: list[int]) -> None:
    request = request_of(*[make_span(number) for number in range(1, 101)])
    request.resource_spans[0].resource.attributes.add(key="r").value.string_value = "x" * 3_000
    body = encoded(request, "protobuf")
    assert len(body) < decoding.GROUP_BYTES / 4
    found = all_at_once(*[ExportRequest("traces", "protobuf", body)] * 3)
    assert [len(span_ids(each)) for each in found] == [100] * 3
    assert groups == [1, 1, 1]


def test_large_requests_are_decoded_alone_also_when_they_came_small(groups: list[int]) -> None:
    bomb = spans_request(1, text="x" * (3 << 20))
    bomb = bomb._replace(body=gzip.compress(bomb.body), compression="gzip")
    assert len(bomb.body) < 10_000
    found = all_at_once(spans_request(9), bomb, bomb, spans_request(2), spans_request(3))
    assert [len(span_ids(each)) for each in found] == [1] * 5
    assert groups == [2, 1, 2], "each group ends with the request that fills it"


def test_what_nobody_waits_for_any_more_is_not_decoded(groups: list[int]) -> None:
    async def work(decoder: Decoder, admission: Admission) -> None:
        left = asyncio.create_task(decode(decoder, admission, spans_request(1)))
        stays = asyncio.create_task(decode(decoder, admission, spans_request(2)))
        await asyncio.sleep(0)
        left.cancel()
        assert len(span_ids(await stays)) == 1
        assert left.cancelled()
        assert admission.in_flight == 0

    decoded(work)
    assert groups == [1]


def test_nothing_is_decoded_while_there_is_no_room_for_what_it_becomes() -> None:
    async def work(decoder: Decoder, admission: Admission) -> None:
        async with admission.admit(10) as own, admission.admit(10) as other:
            other.force_to(2000)
            with pytest.raises(Unavailable, match="too many requests are in flight"):
                await decoder.decode(spans_request(1), own)
        assert len(span_ids(await decode(decoder, admission, spans_request(1)))) == 1

    decoded(work, limit_bytes=1000)


def test_closing_cancels_what_waits() -> None:
    async def work(decoder: Decoder, admission: Admission) -> None:
        held = threading.Event()
        decoder._thread.submit(held.wait, 10)
        waiting = [
            asyncio.create_task(decode(decoder, admission, spans_request(n))) for n in (1, 2)
        ]
        await asyncio.sleep(0.01)
        decoder.close()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError | TracejuryError) for each in outcomes)
        held.set()

    decoded(work)
