"""Promise 2: between the last write of a batch and its acknowledgement the disk is waited for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc
import httpx
import pytest

from tests.helpers.senders import over_grpc, over_http, trace_request
from tests.helpers.service import running_service
from tests.helpers.stack import running_stack
from tests.helpers.strace import Call, allow_tracing, calls, traced
from tests.promises.accounting import assert_accounts, assert_balanced, assert_kept, counted

CONFIG = "rules: {}\ncompletion: {after_root: 1h, idle: 1h}\n"  # nobody else writes
_HEADERS, _END_STREAM = 1, 1


def is_http_answer(call: Call) -> bool:
    """Say whether the call sends that a request over HTTP was taken."""
    return call.data.startswith(b"HTTP/1.1 200")


def is_grpc_answer(call: Call) -> bool:
    """Say whether the call sends the end of an answer over gRPC: HEADERS that end a stream."""
    return any(kind == _HEADERS and flags & _END_STREAM for kind, flags in _frames(call.data))


def _frames(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield (type, flags) of the HTTP/2 frames; nothing of what is none."""
    position = 0
    while position + 9 <= len(data):
        end = position + 9 + int.from_bytes(data[position : position + 3])
        if end > len(data):
            return
        yield data[position + 3], data[position + 4]
        position = end


def check_acknowledgements(
    seen: Sequence[Call], port: int, is_answer: Callable[[Call], bool], expected: int
) -> None:
    """Check each answer: its batch was written to the journal before, and then waited for."""
    written, waited, answers = False, False, 0
    for call in seen:
        if call.target.endswith(".segment"):
            written, waited = written or not call.is_sync, call.is_sync
        elif f":{port}->" in call.target and call.target.startswith("TCP") and is_answer(call):
            assert written, f"answer {answers}: nothing of its batch was written before"
            assert waited, f"answer {answers}: the journal was written and not waited for"
            written, waited, answers = False, False, answers + 1
    assert answers == expected


def test_every_acknowledgement_comes_after_the_disk(tmp_path: Path) -> None:
    allow_tracing()
    with running_stack(tmp_path) as stack:
        with _senders(stack.http_url, stack.grpc_address) as senders:
            for (transport, port, is_answer), send in senders.items():
                output = tmp_path / f"{transport}.strace"
                with traced([os.getpid()], output):
                    _send(send, 5)
                check_acknowledgements(calls(output), port, is_answer, 5)
        assert_balanced(counted(stack.api.context.db))


@pytest.mark.slow
def test_every_acknowledgement_of_a_service_comes_after_the_disk(tmp_path: Path) -> None:
    with running_service(tmp_path, CONFIG) as service:
        pids = [service.children()[name].pid for name in ("store", "receiver-1")]
        with _senders(service.otlp_http, service.grpc) as senders:
            for (transport, port, is_answer), send in senders.items():
                output = tmp_path / f"{transport}.strace"
                with traced(pids, output):
                    _send(send, 200)
                check_acknowledgements(calls(output), port, is_answer, 200)
        assert_accounts(service)
    assert_kept(service.database)


Way = tuple[str, int, Callable[[Call], bool]]


@contextmanager
def _senders(
    http_url: str, grpc_address: str
) -> Iterator[dict[Way, Callable[[bytes], bool | None]]]:
    with httpx.Client(timeout=30) as client, grpc.insecure_channel(grpc_address) as channel:
        ports = [int(address.rpartition(":")[2]) for address in (http_url, grpc_address)]
        yield {
            ("http", ports[0], is_http_answer): over_http(client, http_url),
            ("grpc", ports[1], is_grpc_answer): over_grpc(channel),
        }


NUMBERS = iter(range(1, 1 << 20))


def _send(send: Callable[[bytes], bool | None], count: int) -> None:
    """Send one request after the other, so that each answer is to what was written last."""
    for _ in range(count):
        assert send(trace_request(next(NUMBERS)))
