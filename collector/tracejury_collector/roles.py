"""What the children of the supervisor run: the store, a receiver, the assembler, or a jury process.

Jury processes are for evaluators that compute, or for those that wait for others. A child reads its
settings from its standard input and ends when that closes.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import orjson

from tracejury.dialects import use_dialects
from tracejury.dialects.custom import parse_dialect
from tracejury.errors import TracejuryError
from tracejury_collector.config import (
    Config,
)
from tracejury_collector.errors import ConfigError
from tracejury_collector.heap import keep_giving_back
from tracejury_collector.keys.model import Key
from tracejury_collector.logs import log_to_stderr
from tracejury_collector.status import CANNOT_START, READY, tell

log = logging.getLogger("tracejury.service")

_GC_YOUNG = 10_000  # new objects between two looks for garbage


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSettings:
    """What every child is told.

    `dialects` are those that users bring: file and data. They are read once, so that a file that
    changes meanwhile divides no children. `catalog` is a file that says what evaluators there are;
    `folder` is where the paths of plugins start. `own_key` (JSON) and its text `own_secret` let the
    jury's processes send the traces of judges to the receivers, and nothing else.
    """

    config: str
    folder: str
    catalog: str
    dialects: list[tuple[str, Any]]
    store_socket: str
    assembler_socket: str
    grpc_address: str
    otlp_http_address: str
    otlp_http_fd: int
    api_fd: int
    api_address: str
    keys_required: bool
    own_key: str
    own_secret: str
    environment: Mapping[str, str]
    """What is added to the plain variables that the process was started with."""


def main(argv: list[str]) -> int:
    """Run one child: `argv` is its role and its name."""
    role, name = argv
    log_to_stderr(name)
    settings = ChildSettings(**orjson.loads(sys.stdin.buffer.readline()))
    os.environ.update(settings.environment)
    _dialects_in_force(settings)
    run = _ROLES[role]
    try:
        orphaned = asyncio.run(_until_stopped(run, settings))
        if orphaned and role == "store":
            shutil.rmtree(Path(settings.store_socket).parent, ignore_errors=True)
    except ConfigError as error:
        tell(" ".join(str(error).split()).encode())
        return CANNOT_START
    except TracejuryError as error:
        log.critical("%s", error)
        return 1
    return 0


def _dialects_in_force(settings: ChildSettings) -> None:
    """Read spans by the dialects that users bring, too."""
    use_dialects(parse_dialect(data, file).dialect for file, data in settings.dialects)


async def _run_receiver(settings: ChildSettings, stop: asyncio.Event) -> None:
    from tracejury_collector.receive import process

    await process.run(
        process.ReceiverSettings(
            config=Config.model_validate_json(settings.config),
            http_sockets=[settings.otlp_http_fd],
            grpc_address=settings.grpc_address,
            store_socket=settings.store_socket,
            keys_required=settings.keys_required,
            own_key=Key.model_validate_json(settings.own_key),
            ready=_ready,
        ),
        stop,
    )


async def _run_jury(settings: ChildSettings, stop: asyncio.Event) -> None:
    await _run_evaluators(settings, stop, "quick")


async def _run_judge(settings: ChildSettings, stop: asyncio.Event) -> None:
    await _run_evaluators(settings, stop, "waiting")


async def _run_evaluators(
    settings: ChildSettings, stop: asyncio.Event, lane: Literal["quick", "waiting"]
) -> None:
    from tracejury_collector.jury import process
    from tracejury_collector.jury.catalog import Catalog
    from tracejury_evaluators.plugins import PluginRegistry

    catalog = Catalog.model_validate_json(Path(settings.catalog).read_bytes())
    registry = partial(PluginRegistry, Path(settings.folder), catalog.plugins())
    _ready()
    config = Config.model_validate_json(settings.config)
    await process.run(
        config,
        settings.store_socket,
        stop,
        registry=registry,
        lane=lane,
        otlp_http=settings.otlp_http_address,
        own_key=settings.own_secret,
    )


async def _run_store(settings: ChildSettings, stop: asyncio.Event) -> None:
    from tracejury_collector.store.without_pandas import do_without_pandas

    do_without_pandas()
    from tracejury_collector import storing
    from tracejury_collector.jury.catalog import Catalog

    config = Config.model_validate_json(settings.config)
    _limit_address_space(config.database.address_space)
    await storing.run(
        storing.StoreSettings(
            config=config,
            folder=settings.folder,
            store_socket=settings.store_socket,
            assembler_socket=settings.assembler_socket,
            api_fd=settings.api_fd,
            listen={
                "grpc": settings.grpc_address,
                "otlp_http": settings.otlp_http_address,
                "api": settings.api_address,
            },
            dialect_files={data["name"]: file for file, data in settings.dialects},
            catalog=Catalog.model_validate_json(Path(settings.catalog).read_bytes()),
            keys_required=settings.keys_required,
            ready=_ready,
        ),
        stop,
    )


async def _run_assembler(settings: ChildSettings, stop: asyncio.Event) -> None:
    import pyarrow as pa

    from tracejury_collector.assembling import process

    pa.set_memory_pool(pa.system_memory_pool())  # others reserve address space, and keep it

    _ready()
    await process.run(settings.assembler_socket, stop)


_ROLES = {
    "store": _run_store,
    "assembler": _run_assembler,
    "receiver": _run_receiver,
    "jury": _run_jury,
    "judge": _run_judge,
}


async def _until_stopped(
    run: Callable[[ChildSettings, asyncio.Event], Awaitable[None]], settings: ChildSettings
) -> bool:
    """Run a child until SIGTERM, or until the supervisor is gone; return whether it is."""
    stop = asyncio.Event()
    orphaned = asyncio.Event()
    loop = asyncio.get_running_loop()
    lifeline = sys.stdin.fileno()

    def leave() -> None:
        loop.remove_reader(lifeline)
        orphaned.set()
        stop.set()

    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    loop.add_reader(lifeline, leave)
    giving_back = asyncio.create_task(keep_giving_back(), name="giving back")
    try:
        await run(settings, stop)
    finally:
        giving_back.cancel()
        loop.remove_reader(lifeline)
    return orphaned.is_set()


def _ready() -> None:
    """Tell the supervisor that this child does its work."""
    _spare_the_collector()
    tell(READY)


def _spare_the_collector() -> None:
    """Look for garbage in cycles less often, and never among what start-up has made.

    A batch of spans is many small objects that live together and die without cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_YOUNG)


def _limit_address_space(size_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = size_bytes if hard == resource.RLIM_INFINITY else min(size_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
