"""The receiver process: both OTLP ports, one ingest, one connection to the store."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracejury_collector.config import Config
from tracejury_collector.http_server import http_server as http_server_for
from tracejury_collector.keys.model import Key
from tracejury_collector.keys.ring import KeyRing
from tracejury_collector.origins import Hosts
from tracejury_collector.receive import grpc, http, refusals, unread
from tracejury_collector.receive.accounts import Accounts
from tracejury_collector.receive.ingest import Ingest
from tracejury_collector.receive.journal import Journal
from tracejury_collector.receive.store_client import StoreClient
from tracejury_collector.redaction import Redactor

_DRAIN_S = 2.5
_CLOSE_S = 1
_LAST_REPORT_S = 0.5
_START_POLL_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings:
    """What a receiver process is given by the supervisor."""

    config: Config
    http_sockets: Sequence[int]
    """File descriptors of sockets that listen already."""
    grpc_address: str
    store_socket: str
    keys_required: bool
    own_key: Key
    """What the service itself sends spans with."""
    ready: Callable[[], None]
    """Called once both ports answer."""


async def run(settings: ReceiverSettings, stop: asyncio.Event) -> None:
    """Serve both ports until `stop` is set; then answer what is in flight and return."""
    limits = settings.config.limits
    store = StoreClient(settings.store_socket)
    accounts = Accounts(store)
    journal = Journal(settings.config.journal_folder())
    ingest = Ingest(store, accounts, limits, journal, Redactor(settings.config.redact))
    keys = KeyRing(
        settings.config.key_file(), required=settings.keys_required, own=settings.own_key
    )
    await store.start()
    end = asyncio.Event()
    carrying = asyncio.create_task(ingest.hand_over(), name="handover")
    reporting = {
        asyncio.create_task(accounts.keep_reporting(end), name="accounts"),
        asyncio.create_task(unread.keep_reporting(store, end), name="unread"),
        asyncio.create_task(refusals.keep_reporting(keys.refusals, store, end), name="refusals"),
    }
    try:
        await _serve(settings, ingest, keys, stop, carrying)
        end.set()
        await asyncio.wait(reporting, timeout=_LAST_REPORT_S)
    finally:
        for task in (*reporting, carrying):
            task.cancel()
        await store.close()
        ingest.close()


async def _serve(
    settings: ReceiverSettings,
    ingest: Ingest,
    keys: KeyRing,
    stop: asyncio.Event,
    carrying: asyncio.Task[None],
) -> None:
    grpc_server = grpc.create_server(ingest, keys, settings.grpc_address)
    listen = settings.config.listen
    app = http.create_app(ingest, keys, Hosts(listen.otlp_http, listen.hosts))
    http_server = http_server_for(app, drain_s=_CLOSE_S)
    sockets = [socket.socket(fileno=fd) for fd in settings.http_sockets]
    serving = asyncio.create_task(http_server.serve(sockets), name="http")
    stopping = asyncio.create_task(stop.wait(), name="stop")
    try:
        await grpc_server.start()
        while not http_server.started and not serving.done():
            await asyncio.sleep(_START_POLL_S)
        settings.ready()
        await asyncio.wait({serving, stopping, carrying}, return_when=asyncio.FIRST_COMPLETED)
        if carrying.done():
            carrying.result()  # it never ends by itself: what it raised ends the process
    finally:
        stopping.cancel()
        with contextlib.suppress(TimeoutError):  # what is left then waits in the journal
            await asyncio.wait_for(ingest.drain(), _DRAIN_S)
        http_server.should_exit = True
        await asyncio.gather(serving, grpc_server.stop(_CLOSE_S))
