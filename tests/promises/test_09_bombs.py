"""Promise 9: what unfolds past the limit is refused before it takes memory."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

import grpc
import httpx
import pytest
import zstandard

from tests.helpers.memory import peak_bytes, reset_peak
from tests.helpers.service import running_service
from tests.helpers.stack import Stack, running_stack
from tests.helpers.transports import Client, Transport, client_of
from tests.promises.accounting import assert_accounts, assert_balanced, assert_kept, counted

GROWTH_BYTES = 80 << 20
SIZE_BYTES = 500_000_000
PIECE = bytes(1 << 20)
MEDIA: Mapping[Transport, str] = {
    "protobuf": "application/x-protobuf",
    "json": "application/json",
}


class Compressor(Protocol):
    """What compresses piece by piece."""

    def compress(self, data: bytes, /) -> bytes:
        """Return what the piece adds."""

    def flush(self) -> bytes:
        """Return the end."""


def unfolding(compressor: Compressor, size: int) -> bytes:
    """Return so many zeros, compressed."""
    pieces = [compressor.compress(PIECE) for _ in range(size // len(PIECE))]
    return b"".join([*pieces, compressor.flush()])


@cache
def bomb(name: str, size: int) -> tuple[bytes, str]:
    """Return (body, content encoding) of a bomb of this size."""
    if name == "zstd":
        return unfolding(zstandard.ZstdCompressor().compressobj(), size), "zstd"
    if name == "deflate":
        return unfolding(zlib.compressobj(9), size), "deflate"
    once = unfolding(zlib.compressobj(9, wbits=31), size)
    if name == "gzip in many members":
        return unfolding(zlib.compressobj(9, wbits=31), size // 8) * 8, "gzip"
    if name == "gzip in gzip":
        return gzip.compress(once), "gzip"
    return once, "gzip"


STATUS = {
    "gzip": 413,
    "deflate": 413,
    "zstd": 413,
    "gzip in many members": 413,
    "gzip in gzip": 400,  # unfolded once, it is no request
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("stack")) as running:
        yield running
        assert_balanced(counted(running.api.context.db))


@pytest.mark.parametrize("transport", ["protobuf", "json"])
@pytest.mark.parametrize("name", STATUS)
def test_a_bomb_is_refused(stack: Stack, name: str, transport: Transport) -> None:
    body, encoding = bomb(name, 96 << 20)
    before = reset_peak(os.getpid())
    headers = {"content-type": MEDIA[transport], "content-encoding": encoding}
    answer = httpx.post(f"{stack.http_url}/v1/traces", content=body, headers=headers, timeout=60)
    assert answer.status_code == STATUS[name]
    assert "retry-after" not in answer.headers
    assert peak_bytes(os.getpid()) - before <= GROWTH_BYTES


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_bombs_of_500_megabytes_make_no_process_of_a_service_grow(tmp_path: Path) -> None:
    with (
        running_service(tmp_path) as service,
        grpc.insecure_channel(
            service.grpc, [("grpc.max_send_message_length", -1)], grpc.Compression.Gzip
        ) as channel,
        client_of(service.otlp_http, service.grpc) as client,
    ):
        pid = service.children()["receiver-1"].pid
        assert client.send_body("protobuf", b"").code == 0
        before = reset_peak(pid)
        for name, status in STATUS.items():
            body, encoding = bomb(name, SIZE_BYTES)
            headers = {"content-type": MEDIA["protobuf"], "content-encoding": encoding}
            assert client.post(body, headers).status == status
        with httpx.Client() as unused:
            reply = Client(unused, channel).send_body("grpc", bytes(SIZE_BYTES))
        assert reply.status == "RESOURCE_EXHAUSTED"
        assert "google.rpc.retryinfo-bin" not in reply.headers
        grown = peak_bytes(pid) - before
        print(f"the receiver grew by {grown >> 20} MiB")  # noqa: T201
        assert grown <= GROWTH_BYTES
        assert_accounts(service)
    assert_kept(service.database)
