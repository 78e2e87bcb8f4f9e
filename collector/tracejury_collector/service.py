"""The wiring of the service: the only place where its parts are built.

`serve` is the supervisor; `main` is what each of its children runs: the store, a receiver,
the assembler, or a jury process, for evaluators that compute or for those that wait for others. A
child reads its settings from its standard input and ends when that closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

import orjson

from tracejury.dialects import use_dialects
from tracejury.dialects.custom import CustomDialect, parse_dialect
from tracejury.errors import TracejuryError
from tracejury_collector.children import ChildSpec, Fork
from tracejury_collector.config import (
    Config,
    Listen,
    load_config,
    load_dialects,
    without_jury,
    without_outward,
)
from tracejury_collector.environments import Role, environment_of, plain
from tracejury_collector.errors import ConfigError
from tracejury_collector.keys.model import Key, new_key
from tracejury_collector.keys.needed import keys_required, refuse_open_network
from tracejury_collector.rules import JUDGE_PROJECT
from tracejury_collector.status import READY, tell
from tracejury_collector.supervisor import CANNOT_START, Supervisor

log = logging.getLogger("tracejury.service")

BACKLOG = 1024
STORE_DRAIN_S = 4.0
RECEIVER_DRAIN_S = 4.0
JURY_DRAIN_S = 1.5
ASSEMBLER_DRAIN_S = 1.0
_GC_YOUNG = 10_000  # new objects between two looks for garbage
_OPEN_FILES = 65_536  # of each process, where the system allows as many
_POLL_S = 0.1
PREDECESSOR_S = 5.0  # what a service that lost its supervisor needs to leave its ports


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


def serve(config_path: str | None) -> int:
    """Run the service until it is told to stop; return its exit code."""
    _log_to_stderr("supervisor")
    _allow_open_files()
    try:
        path = Path(config_path) if config_path else None
        config = load_config(path)
        folder = path.absolute().parent if path else Path.cwd()
        with _runtime(config, load_dialects(config), folder) as settings:
            return Supervisor(_children(config, settings), _announce(settings)).run()
    except ConfigError as error:
        print(f"tracejury: {error}", file=sys.stderr)  # noqa: T201
        return CANNOT_START


@contextlib.contextmanager
def _runtime(
    config: Config, dialects: list[CustomDialect], folder: Path
) -> Iterator[ChildSettings]:
    """Hold the listening sockets and the directory of the store's socket and of the catalog."""
    _refuse_shared_ports(config.listen)
    refuse_open_network(config)
    deadline_s = time.monotonic() + PREDECESSOR_S
    with contextlib.ExitStack() as stack:

        def bound(name: str, address: str, *, reserve: bool = False) -> socket.socket:
            return stack.enter_context(_bind(name, address, deadline_s, reserve=reserve))

        grpc = bound("listen.grpc", config.listen.grpc, reserve=True)
        http = bound("listen.otlp_http", config.listen.otlp_http)
        api = bound("listen.api", config.listen.api)
        directory = tempfile.mkdtemp(prefix="tracejury-")
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        own = new_key("tracejury", ["ingest"], datetime.now(UTC), project=JUDGE_PROJECT)
        catalog_file = Path(directory) / "catalog.json"
        catalog_file.write_bytes(_described(config, folder))
        yield ChildSettings(
            config=config.model_dump_json(),
            folder=str(folder),
            catalog=str(catalog_file),
            dialects=[(custom.file, custom.data) for custom in dialects],
            store_socket=str(Path(directory) / "store.sock"),
            assembler_socket=str(Path(directory) / "assembler.sock"),
            grpc_address=_address(grpc),
            otlp_http_address=_address(http),
            otlp_http_fd=http.fileno(),
            api_fd=api.fileno(),
            api_address=_address(api),
            keys_required=keys_required(config),
            own_key=own.key.model_dump_json(),
            own_secret=own.secret,
            environment={},
        )


def _described(config: Config, folder: Path) -> bytes:
    """Return the catalog of evaluators as JSON; no other child than store and jury needs it."""
    from tracejury_collector.jury.describe import describe

    judging = environment_of("judge", config, os.environ)
    return describe(config, folder, environ=judging).model_dump_json().encode()


def _refuse_shared_ports(listen: Listen) -> None:
    taken: dict[str, str] = {}
    for setting, address in listen.addresses().items():
        other = taken.setdefault(address, setting)
        if other != setting and not address.endswith(":0"):
            raise ConfigError(
                f"listen.{setting}: {address!r} is the address of listen.{other} too; "
                "choose another port (port 0 takes a free one)"
            )


def _bind(setting: str, address: str, deadline_s: float, *, reserve: bool = False) -> socket.socket:
    """Return a bound socket: listening, or only holding the port for others (`reserve`).

    A service whose supervisor was killed is given until `deadline_s` to leave the port.

    Raises: ConfigError naming the setting if the address cannot be had.
    """
    waiting = False
    while True:
        try:
            return _bind_now(address, reserve=reserve)
        except (OSError, OverflowError) as error:
            in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if not in_use or time.monotonic() > deadline_s:
                raise ConfigError(
                    f"{setting}: cannot listen on {address!r}: {error}; "
                    "stop what uses it, or choose another address (port 0 takes a free one)"
                ) from error
        if not waiting:
            waiting = True
            log.info("%s: %s is in use; waiting a moment for it", setting, address)
        time.sleep(_POLL_S)


def _bind_now(address: str, *, reserve: bool) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reserve:
            _refuse_if_served(family, host, int(port))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((host, int(port)))
        if not reserve:
            bound.listen(BACKLOG)
    except (OSError, OverflowError):
        bound.close()
        raise
    return bound


def _refuse_if_served(family: int, host: str, port: int) -> None:
    """Raise OSError if another process already listens there with a shared port."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _children(config: Config, settings: ChildSettings) -> list[ChildSpec]:
    # who reads from the network, or runs the code of others, is told no secret that is not its own
    storing = replace(settings, own_secret="")
    receiving = replace(storing, config=without_jury(config).model_dump_json())
    assembling = replace(storing, config="", own_key="")
    judging = replace(settings, config=without_outward(config).model_dump_json())
    told: dict[Role, ChildSettings] = {
        "store": storing,
        "receiver": receiving,
        "assembler": assembling,
        "jury": replace(judging, own_secret=""),
        "judge": judging,
    }
    lines = {
        role: orjson.dumps(
            asdict(replace(each, environment=environment_of(role, config, os.environ)))
        )
        for role, each in told.items()
    }

    environ = plain(os.environ)

    def child(role: Role, number: int, stage: int, drain_s: float, *fds: int) -> ChildSpec:
        name = f"{role}-{number}" if number else role
        server = "jury-forkserver" if role in ("jury", "judge") else "store-forkserver"
        return ChildSpec(
            name=name,
            argv=_command("service", role, name),
            fork=Fork(server=server, call="tracejury_collector.service:main", args=(role, name)),
            settings=lines[role],
            environ=environ,
            fds=fds,
            stage=stage,
            drain_s=drain_s,
        )

    receivers = [
        child("receiver", n, 0, RECEIVER_DRAIN_S, settings.otlp_http_fd)
        for n in range(1, config.receivers + 1)
    ]
    jury = [child("jury", n, 1, JURY_DRAIN_S) for n in range(1, config.jury.workers + 1)]
    jury += [child("judge", n, 1, JURY_DRAIN_S) for n in range(1, config.jury.judges + 1)]
    store = child("store", 0, 2, STORE_DRAIN_S, settings.api_fd)
    assembler = child("assembler", 0, 3, ASSEMBLER_DRAIN_S)
    return [*_forkservers(environ), store, assembler, *receivers, *jury]


def _forkservers(environ: Mapping[str, str]) -> list[ChildSpec]:
    """Return what the others are forked from.

    That of the store is itself a fork of that of the jury, so that all share what both import. The
    other way round, what runs evaluators would have the store's modules within reach.
    """

    def server(name: str, prepare: str, parent: str = "") -> ChildSpec:
        args = (f"tracejury_collector.preloading:{prepare}", name)
        fork = Fork(server=parent, call="tracejury_collector.forkserver:main", args=args)
        return ChildSpec(
            name=name,
            argv=_command("forkserver", *args),
            settings=b"",
            environ=environ,
            fork=fork if parent else None,
            serves=True,
            stage=4,
        )

    return [
        server("jury-forkserver", "jury"),
        server("store-forkserver", "store", "jury-forkserver"),
    ]


def _command(module: str, *args: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", f"tracejury_collector.{module}", *args)


def _announce(settings: ChildSettings) -> Callable[[], None]:
    def announce() -> None:
        print(  # noqa: T201
            f"Tracejury is ready: OTLP/gRPC {settings.grpc_address}, "
            f"OTLP/HTTP http://{settings.otlp_http_address}, API http://{settings.api_address}",
            flush=True,
        )

    return announce


def main(argv: list[str]) -> int:
    """Run one child: `argv` is its role and its name."""
    role, name = argv
    _log_to_stderr(name)
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
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others reserve address space, and keep it
    from tracejury_collector.assembling import process

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
    try:
        await run(settings, stop)
    finally:
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


def _allow_open_files() -> None:
    """Let this process and its children hold many connections: the usual 1024 are few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _limit_address_space(size_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = size_bytes if hard == resource.RLIM_INFINITY else min(size_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _log_to_stderr(name: str) -> None:
    wanted = os.environ.get("TRACEJURY_LOG_LEVEL", "INFO").upper()
    logging.basicConfig(
        level=wanted if wanted in logging.getLevelNamesMapping() else logging.INFO,
        format=f"%(asctime)s %(levelname)s {name}: %(message)s",
        stream=sys.stderr,
        force=True,
    )
    for client in ("httpx", "httpx2"):  # they tell each URL, and a URL may hold a secret
        logging.getLogger(client).setLevel(logging.WARNING)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
