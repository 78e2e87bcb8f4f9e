"""The store's end of the socket to the assembler."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tracejury_collector.assembling.batch import Assembled, Batch, read_assembled, write_batch
from tracejury_collector.errors import AssemblyFailed, Unavailable
from tracejury_collector.ipc import receive_frame, send_frame

log = logging.getLogger(__name__)

ANSWER_S = 60.0
"""A batch of usual traces takes a tenth of a second."""
CONNECT_S = 10.0
ATTEMPTS = 2
"""How many assemblers may die at a batch: the first may have been killed by chance."""
_CREDENTIALS = struct.Struct("3i")  # of SO_PEERCRED: pid, uid, gid


@dataclass(slots=True)
class _Sent:
    batch: Batch
    attempts: int = 1


class AssemblerLink:
    """Hands batches to the assembler that is connected, those of one caller at a time.

    An assembler that dies is no loss: its successor is given the batch again.
    """

    def __init__(
        self, path: str, *, answer_s: float = ANSWER_S, connect_s: float = CONNECT_S
    ) -> None:
        """Listen on the path; a socket that a dead process left there is replaced."""
        self.lost = 0
        self._answer_s = answer_s
        self._connect_s = connect_s
        self._path = Path(path)
        self._path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._path.chmod(0o600)
        self._listener.listen()
        self._peer: socket.socket | None = None
        self._is_closed = False
        self._turn = threading.Lock()

    def close(self) -> None:
        """Leave the assembler; whoever waits for it gets Unavailable."""
        self._is_closed = True
        self._path.unlink(missing_ok=True)
        for each in (self._listener, self._peer):
            if each is not None:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        with self._turn:
            self._listener.close()
            self._leave()

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Assembled]:
        """Yield what is made of each batch; the next is read while the assembler works.

        Raises: AssemblyFailed for a batch that it cannot assemble; Unavailable while it is away.
        """
        with self._turn:
            yield from self._assembled(batches)

    def _assembled(self, batches: Iterable[Batch]) -> Iterator[Assembled]:
        sent: _Sent | None = None
        try:
            for batch in batches:
                if sent is not None:
                    yield self._answered(sent)
                sent = _Sent(batch)
                self._send(batch)
            if sent is not None:
                yield self._answered(sent)
            sent = None
        finally:
            if sent is not None:
                self._leave()  # an answer may still come that nobody waits for

    def _answered(self, sent: _Sent) -> Assembled:
        while True:
            try:
                return self._receive(sent.batch)
            except TimeoutError:
                self._kill()
                raise AssemblyFailed(f"it takes longer than {self._answer_s:g} s") from None
            except (OSError, EOFError, ValueError, pa.ArrowException) as error:
                self._leave()
                if self._is_closed:
                    raise self._away() from None
                self.lost += 1
                log.warning("the assembler was lost: %s", error or type(error).__name__)
                if sent.attempts >= ATTEMPTS:
                    raise AssemblyFailed(
                        f"the assembler died at it {sent.attempts} times; "
                        "it may need more memory than that process may take"
                    ) from error
            sent.attempts += 1
            self._send(sent.batch)

    def _receive(self, batch: Batch) -> Assembled:
        if self._peer is None:
            raise EOFError("it was gone before it took the batch")
        header, payload = receive_frame(self._peer, time.monotonic() + self._answer_s)
        if header.get("op") != "assembled":
            raise AssemblyFailed(str(header.get("reason")))
        return read_assembled(payload, batch)

    def _send(self, batch: Batch) -> None:
        peer = self._connected()
        header, payload = write_batch(batch)
        try:
            send_frame(peer, header, memoryview(payload), time.monotonic() + self._answer_s)
        except TimeoutError:
            self._kill()
        except OSError:
            self._leave()

    def _connected(self) -> socket.socket:
        """Return the connection to the assembler that lives.

        Raises: Unavailable when there is none for long.
        """
        if self._peer is not None and _has_left(self._peer):
            self._leave()
        deadline_s = time.monotonic() + self._connect_s
        while self._peer is None:
            try:
                self._listener.settimeout(max(0.001, deadline_s - time.monotonic()))
                accepted, _ = self._listener.accept()
            except OSError:
                raise self._away() from None
            if _has_left(accepted):
                accepted.close()
            else:
                self._peer = accepted
        return self._peer

    def _away(self) -> Unavailable:
        if self._is_closed:
            return Unavailable("the service is shutting down")
        return Unavailable("the assembler is away; it will be back soon")

    def _leave(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def _kill(self) -> None:
        """End the assembler that is connected, which does not answer."""
        if self._peer is None:
            return
        size = _CREDENTIALS.size
        found = self._peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid, _, _ = _CREDENTIALS.unpack(found)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
        self.lost += 1
        self._leave()


def _has_left(peer: socket.socket) -> bool:
    """Say whether the other end is closed; it never speaks first."""
    poll = select.poll()
    poll.register(peer, select.POLLIN)
    return bool(poll.poll(0))
