"""Batches for the assembler, and peers of the store's end of its socket."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.helpers.store import START_NS, span_row
from tracejury_collector.assembling.assembly import answer
from tracejury_collector.assembling.batch import Batch, Task
from tracejury_collector.ipc import receive_frame, send_frame
from tracejury_collector.sampling import Draw
from tracejury_collector.store.arrivals import LOG_COLUMNS, SPAN_COLUMNS
from tracejury_collector.store.columns import arrow_table

_ASSEMBLER = (
    "import asyncio, os, sys;"
    "os.environ['ARROW_DEFAULT_MEMORY_POOL'] = 'system';"
    "from tracejury_collector.assembling import process;"
    "asyncio.run(process.run(sys.argv[1], asyncio.Event()))"
)
_SILENT = (
    "import socket, sys, time;"
    "peer = socket.socket(socket.AF_UNIX); peer.connect(sys.argv[1]); time.sleep(60)"
)

Peer = Callable[[socket.socket], None]


def batch(*rows: Mapping[str, Any], draws: Sequence[Draw] = ()) -> Batch:
    """Return a batch with the traces of these spans, as first revisions."""
    numbered = [
        tuple({**span_row(**row), "seq": seq}[name] for name in SPAN_COLUMNS)
        for seq, row in enumerate(rows, 1)
    ]
    ids = dict.fromkeys(str(span_row(**row)["trace_id"]) for row in rows)
    return Batch(
        tasks=[task(trace_id, last_seq=len(rows)) for trace_id in ids],
        draws=draws,
        spans=arrow_table(SPAN_COLUMNS, numbered),
        logs=arrow_table(LOG_COLUMNS, []),
    )


def task(trace_id: str, **fields: Any) -> Task:
    """Return the task of a first revision."""
    first = {
        "revision": 1,
        "known_seq": -1,
        "first_seq": 1,
        "last_seq": 1,
        "project": "default",
        "service_name": "booking",
        "completed_by": "root_ended",
        "completed_at_ns": START_NS,
        "former_ns": 0,
    }
    return Task(**{"trace_id": trace_id, **first, **fields})


@contextlib.contextmanager
def peers(path: Path, *scripts: Peer) -> Iterator[None]:
    """Connect to the path, one after the other, and have each script speak."""

    def run() -> None:
        for script in scripts:
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(str(path))
                script(peer)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    thread.join(10)


def answers(peer: socket.socket) -> None:
    """Answer as the assembler does, until the other end leaves."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            header, payload = _request(peer)
            said = memoryview(answer(header, payload))
            send_frame(peer, {"op": "assembled"}, said, time.monotonic() + 5)


def dies(peer: socket.socket) -> None:
    """Take a batch and leave."""
    _request(peer)


def says(header: dict[str, Any], payload: bytes | pa.Buffer) -> Peer:
    """Return who gives this answer to one batch, then answers as the assembler does."""

    def script(peer: socket.socket) -> None:
        _request(peer)
        send_frame(peer, header, memoryview(payload), time.monotonic() + 5)
        answers(peer)

    return script


def assembler(path: Path) -> subprocess.Popen[bytes]:
    """Start a real assembler."""
    return subprocess.Popen([sys.executable, "-c", _ASSEMBLER, str(path)])


def silent(path: Path) -> subprocess.Popen[bytes]:
    """Start who connects and never says anything."""
    return subprocess.Popen([sys.executable, "-S", "-c", _SILENT, str(path)])


def _request(peer: socket.socket) -> tuple[dict[str, Any], bytearray]:
    return receive_frame(peer, time.monotonic() + 10)
