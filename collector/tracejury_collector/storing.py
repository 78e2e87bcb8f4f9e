"""The store process: the database, the worker, the jury's pool and the API around it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from tracejury.dialects import active
from tracejury.dialects.unread import is_read_now
from tracejury_collector.api.app import create_app
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.problems import malformed_http
from tracejury_collector.assembling.link import AssemblerLink
from tracejury_collector.clock import SteadyClock
from tracejury_collector.completion import Reception
from tracejury_collector.config import Config
from tracejury_collector.definitions import Definitions
from tracejury_collector.erasing import Eraser
from tracejury_collector.errors import InUse
from tracejury_collector.http_server import http_server
from tracejury_collector.importing import Imports, make_ingest
from tracejury_collector.in_force import budget_refusal, budgets_of
from tracejury_collector.jury.budgets import Budgets
from tracejury_collector.jury.building import CatalogSeats
from tracejury_collector.jury.catalog import Catalog
from tracejury_collector.jury.pool import JuryPool
from tracejury_collector.keeping import Keeper
from tracejury_collector.keys.ring import KeyRing, Reason
from tracejury_collector.maintenance import Maintenance
from tracejury_collector.outward import exporting, watching
from tracejury_collector.redaction import Redactor
from tracejury_collector.renormalizing import Renormalizer
from tracejury_collector.retention import Retention
from tracejury_collector.runs.desk import RunDesk, free_by, refusal_by
from tracejury_collector.runs.driver import RunDriver
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.describing import describe
from tracejury_collector.store.lag import Lag
from tracejury_collector.store.renewal import MARGIN_BYTES, Renewal
from tracejury_collector.store.server import Hello, ReceiverDesk, StoreServer
from tracejury_collector.store.turns import Turns
from tracejury_collector.store.unread import UnreadLog
from tracejury_collector.store.watch import end_process_when_stuck
from tracejury_collector.stories import Stories
from tracejury_collector.worker import Worker

_API_DRAIN_S = 1
_PRIVATE = 0o077
"""The database holds prompts and answers: its files are for their owner alone."""
_PREDECESSOR_S = 5.0
_POLL_S = 0.1
_SWITCH_S = 0.0005
"""How long a thread may hold the interpreter while others wait: the writer must not wait for
the worker, which computes, after each of its calls into DuckDB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """What the store process is given by the supervisor.

    `folder` is where the paths of plugins start.
    """

    config: Config
    folder: str
    store_socket: str
    assembler_socket: str
    api_fd: int
    listen: Mapping[str, str]
    catalog: Catalog
    keys_required: bool
    ready: Callable[[], None]
    dialect_files: Mapping[str, str]
    """The dialects that users bring, by name: the files that they come from."""


async def run(settings: StoreSettings, stop: asyncio.Event) -> None:
    """Keep the store until `stop` is set; then finish what was taken, and close the file.

    Raises: ConfigError when the database or a rule cannot be used.
    """
    config = settings.config
    os.umask(_PRIVATE)
    sys.setswitchinterval(_SWITCH_S)
    end_process_when_stuck(_end_process)
    db = await _open(config, stop)
    clock = SteadyClock()
    try:
        appender, definitions = await asyncio.to_thread(
            db.readable, lambda: _read(db, settings, clock)
        )
        budgets = Budgets(
            db, lambda: budgets_of(config.budget, definitions.in_force().rules), time.time_ns
        )
        jury = JuryPool(db, config, definitions.seat_of, budgets=budgets)
        unread = UnreadLog(db)
        await asyncio.to_thread(_forget_what_is_read, unread)
        receivers = _Receivers(appender, config.journal_folder(), unread, clock)
        turns = Turns(db)
        imports = Imports(db, clock)

        def reception() -> Reception:
            return replace(receivers.reception(), imported_ns=imports.last_ns)

        assembling = AssemblerLink(settings.assembler_socket)
        worker = Worker(
            db,
            config,
            jury,
            definitions.in_force,
            assembling,
            reception=reception,
            now_ns=clock,
            is_pressed=appender.is_pressed,
            turns=turns,
            budget_refusal=lambda rule: budget_refusal(budgets, definitions.in_force(), rule),
        )
        refusal = refusal_by(budgets.refusal, free_by(definitions.seat_of))
        driver = RunDriver(
            db,
            turns,
            jury.poke,
            refusal=refusal,
            judges_sessions=lambda: bool(definitions.in_force().rules_on("session")),
        )
        renormalizer = Renormalizer(
            db,
            worker.revise,
            time.time_ns,
            is_held=lambda: any(
                budget_refusal(budgets, definitions.in_force(), rule.name)
                for rule in definitions.in_force().rules
            ),
        )
        maintenance = Maintenance(db, config.database, is_reading_again=renormalizer.is_running)
        renormalizer.hold_while(maintenance.is_compacting)
        worker.between(renormalizer.step)
        retention = Retention(db, config.retention, time.time_ns, renormalizer.is_running)
        eraser = Eraser(db, time.time_ns, renormalizer.is_running)
        renewal = Renewal(db, config.database.memory + MARGIN_BYTES)
        keeper = Keeper([eraser.step, retention.step, maintenance.step, renewal.step])
        server = StoreServer(settings.store_socket, {"receiver": receivers, "jury": jury.handle})
        redactor = Redactor(config.redact)
        context = ApiContext(
            db=db,
            config=config,
            keys=KeyRing(config.key_file(), required=settings.keys_required),
            definitions=definitions,
            worker=worker,
            stories=Stories(
                db=db,
                policy=worker.policy,
                session_policy=worker.sessions.policy,
                reception=reception,
                now_ns=clock,
                in_force=definitions.in_force,
                jury=jury,
            ),
            jury=jury,
            budgets=budgets,
            runs=RunDesk(db, driver, definitions),
            renormalizer=renormalizer,
            ingest=make_ingest(appender, unread, config.limits, imports, redactor),
            redactor=redactor,
            eraser=eraser,
            maintenance=maintenance,
            started_ns=time.time_ns(),
            version=version("tracejury"),
            listen=settings.listen,
            dialect_files=settings.dialect_files,
            evaluator_types=settings.catalog.types,
            ready=lambda: receivers.count > 0,
            refused_by_receivers=lambda: receivers.refused,
        )
        async with (
            exporting(db, config.export.otlp, context.version, settings.listen.values()),
            watching(db, config.alerts),
            _judging(jury),
            _working(worker, assembling),
            _driving(driver),
            _keeping(keeper, maintenance),
            _accepting(server),
            _serving(settings, context),
        ):
            settings.ready()
            await stop.wait()
    finally:
        await asyncio.to_thread(db.close)


def _read(
    db: Database, settings: StoreSettings, clock: SteadyClock
) -> tuple[Appender, Definitions]:
    """Return what has to be read before anything starts."""
    describe(db)
    appender = Appender(db, clock)
    clock.not_before(appender.newest_ns)
    return appender, _definitions(db, settings)


def _definitions(db: Database, settings: StoreSettings) -> Definitions:
    """Return the rules and evaluators in force: the configuration's, and those of the API."""
    catalog, config = settings.catalog, settings.config
    seats = CatalogSeats(Path(settings.folder), catalog)
    return Definitions(db, config, catalog.roster(config), seats)


async def _open(config: Config, stop: asyncio.Event) -> Database:
    """Return the database; a service that lost its supervisor is given time to close it first."""
    deadline_s = time.monotonic() + _PREDECESSOR_S
    while True:
        try:
            return await asyncio.to_thread(Database.open, config.storage, config.database)
        except InUse:
            if stop.is_set() or time.monotonic() > deadline_s:
                raise
        await asyncio.sleep(_POLL_S)


def _end_process() -> None:
    """Die at once: the supervisor starts another store, and what was answered is on disk."""
    os.kill(os.getpid(), signal.SIGKILL)


def _forget_what_is_read(unread: UnreadLog) -> None:
    """Have what the dialects in force read by now taken out of the report."""
    index = active().index
    unread.forget(lambda key: is_read_now(index, key))


class _Receivers:
    """The receivers that are connected, and what they could see of the traffic."""

    def __init__(
        self, appender: Appender, journal: Path, unread: UnreadLog, clock: SteadyClock
    ) -> None:
        self._clock = clock
        self.count = 0
        self._listening_since_ns = 0
        self._lag = Lag()
        self._desk = ReceiverDesk(appender, journal, self._lag, unread)

    @property
    def refused(self) -> Mapping[Reason, int]:
        """Requests refused at the OTLP ports because of who made them, by why."""
        return self._desk.refused

    def reception(self) -> Reception:
        """Return since when someone listens, and how late it comes to be stored."""
        now_ns = self._clock()
        since_ns = self._listening_since_ns if self.count else now_ns
        return Reception(listening_since_ns=since_ns, lag_ns=self._lag.at(now_ns))

    async def __call__(
        self, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if not self.count:
            self._listening_since_ns = self._clock()
        self.count += 1
        try:
            await self._desk(hello, reader, writer)
        finally:
            self.count -= 1


@contextlib.asynccontextmanager
async def _judging(jury: JuryPool) -> AsyncIterator[None]:
    stop = asyncio.Event()
    running = asyncio.create_task(jury.run(stop), name="jury pool")
    try:
        yield
    finally:
        stop.set()
        await running


@contextlib.asynccontextmanager
async def _working(worker: Worker, assembling: AssemblerLink) -> AsyncIterator[None]:
    stop = threading.Event()
    running = asyncio.create_task(asyncio.to_thread(worker.run, stop), name="worker")
    try:
        yield
    finally:
        stop.set()
        await asyncio.to_thread(assembling.close)
        await running


@contextlib.asynccontextmanager
async def _driving(driver: RunDriver) -> AsyncIterator[None]:
    stop = threading.Event()
    running = asyncio.create_task(asyncio.to_thread(driver.run, stop), name="runs")
    try:
        yield
    finally:
        stop.set()
        driver.wake()
        await running


@contextlib.asynccontextmanager
async def _keeping(keeper: Keeper, maintenance: Maintenance) -> AsyncIterator[None]:
    stop = threading.Event()
    running = asyncio.create_task(asyncio.to_thread(keeper.run, stop), name="keeper")
    try:
        yield
    finally:
        stop.set()
        maintenance.stop()
        keeper.wake()
        await running


@contextlib.asynccontextmanager
async def _accepting(server: StoreServer) -> AsyncIterator[None]:
    await server.start()
    try:
        yield
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def _serving(settings: StoreSettings, context: ApiContext) -> AsyncIterator[None]:
    app = create_app(context)
    server = http_server(app, drain_s=_API_DRAIN_S, malformed=malformed_http())
    sockets = [socket.socket(fileno=settings.api_fd)]
    serving = asyncio.create_task(server.serve(sockets), name="api")
    try:
        yield
    finally:
        app.state.streams.close()
        server.should_exit = True
        await serving
