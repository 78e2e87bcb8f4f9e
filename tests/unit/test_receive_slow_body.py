"""A body that does not arrive in time is answered so that the sender tries again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tracejury_collector.config import Limits
from tracejury_collector.keys.ring import KeyRing
from tracejury_collector.origins import Hosts
from tracejury_collector.receive.accounts import Accounts
from tracejury_collector.receive.http import create_app
from tracejury_collector.receive.ingest import Ingest
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.store_client import StoreClient

SCOPE: dict[str, Any] = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "POST",
    "scheme": "http",
    "path": "/v1/traces",
    "raw_path": b"/v1/traces",
    "query_string": b"",
    "server": ("127.0.0.1", 4318),
    "client": ("127.0.0.1", 1),
}


async def post_slowly(folder: Path, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """Return the start of the answer to a body of which the second half never comes."""
    store = StoreClient(str(folder / "nobody.sock"))
    ingest = Ingest(store, Accounts(store), Limits(), Journal(folder / "journal"))
    first = [{"type": "http.request", "body": b"{", "more_body": True}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if first:
            return first.pop()
        await asyncio.Event().wait()
        raise AssertionError("the event is never set")

    async def send(message: Any) -> None:
        sent.append(message)

    app = create_app(ingest, KeyRing(folder / "keys"), Hosts("127.0.0.1:4318"), body_timeout_s=0.02)
    host = (b"host", b"127.0.0.1:4318")
    await app({**SCOPE, "headers": [host, *headers]}, receive, send)
    await asyncio.wait_for(ingest.drain(), 1)
    ingest.close()
    return sent[0]


@pytest.mark.parametrize("length", [[(b"content-length", b"100")], []])
def test_a_slow_body_is_503_with_retry_after_and_holds_nothing(
    tmp_path: Path, length: list[tuple[bytes, bytes]]
) -> None:
    headers = [(b"content-type", b"application/json"), *length]
    start = asyncio.run(post_slowly(tmp_path, headers))
    assert start["status"] == 503
    assert (b"retry-after", b"1") in start["headers"]
