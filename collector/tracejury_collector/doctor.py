"""What `tracejury doctor` can check where the service is installed."""

from __future__ import annotations

import errno
import os
import shutil
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tracejury.client import Client
from tracejury.doctor import Check, State
from tracejury.errors import ApiError, TracejuryError
from tracejury_collector.config import Config, load_config, load_dialects
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.describe import describe
from tracejury_collector.keys.file import read_keys
from tracejury_collector.keys.needed import open_addresses, refuse_open_network

_ENDS_SOON = timedelta(days=14)
_NEEDS_KEY = 401
_DISK_NEEDED_BYTES = 500 << 20
_DISK_WANTED_BYTES = 5 << 30


def service_checks(config_path: Path | None) -> list[Check]:
    """Return findings about the configuration, its ports and its disk."""
    name = str(config_path) if config_path else "none given: the defaults"
    try:
        config = load_config(config_path)
        load_dialects(config)
        describe(config, config_path.absolute().parent if config_path else Path.cwd())
    except ConfigError as error:
        return [
            Check(
                name="configuration",
                state="failed",
                detail=f"{name}: {error}",
                remedy="correct the named setting; docs/configuration.md lists them all",
            )
        ]
    valid = Check(name="configuration", state="ok", detail=name)
    return [valid, _keys(config, datetime.now(UTC)), *_ports(config), _disk(Path(config.storage))]


def _keys(config: Config, now: datetime) -> Check:
    """Say who may call: whether there are keys, whether they are needed, and which end soon."""
    path = config.key_file()
    try:
        refuse_open_network(config)
        keys = read_keys(path)
    except ConfigError as error:
        detail, _, remedy = str(error).partition("; ")
        return Check(name="keys", state="failed", detail=detail, remedy=remedy)
    if not keys:
        reachable = ", ".join(open_addresses(config).values())
        return Check(
            name="keys",
            state="warning" if reachable else "ok",
            detail=f"none: whoever reaches {reachable or 'this machine'} may do everything",
            remedy="make one with 'tracejury keys create', unless something in front checks callers"
            if reachable
            else "",
        )
    active = [key for key in keys if key.state(now) == "active"]
    ending = [key.name for key in active if key.expires_at and key.expires_at - now < _ENDS_SOON]
    return Check(
        name="keys",
        state="warning" if ending or not active else "ok",
        detail=f"{len(active)} of {len(keys)} in {str(path)!r} count"
        + (f"; {', '.join(ending)} will not in {_ENDS_SOON.days} days" if ending else ""),
        remedy="make others with 'tracejury keys create'" if ending or not active else "",
    )


def _ports(config: Config) -> Iterator[Check]:
    running = _is_tracejury(config.listen.api)
    for name, address in config.listen.addresses().items():
        problem = _bind_problem(address)
        if problem is None:
            yield Check(name=f"listen.{name}", state="ok", detail=f"{address} is free")
        elif running:
            yield Check(
                name=f"listen.{name}", state="ok", detail=f"{address} is used by a running service"
            )
        else:
            yield Check(
                name=f"listen.{name}",
                state="failed",
                detail=f"{address} cannot be used: {problem}",
                remedy=f"stop what uses it, or set listen.{name} to another address",
            )


def _bind_problem(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except (OSError, OverflowError) as error:
            in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            return "another process listens there" if in_use else str(error)
    return None


def _is_tracejury(address: str) -> bool:
    try:
        with Client(f"http://{address}", timeout_s=2.0) as client:
            client.health()
    except ApiError as error:
        return error.status == _NEEDS_KEY
    except TracejuryError:
        return False
    return True


def _disk(storage: Path) -> Check:
    """Say whether the database can be written, and how much room it has."""
    directory = storage.absolute().parent
    if not directory.is_dir() or not os.access(directory, os.W_OK | os.X_OK):
        return Check(
            name="storage",
            state="failed",
            detail=f"the directory {str(directory)!r} cannot be written",
            remedy="create it, or set storage to another path",
        )
    free = shutil.disk_usage(directory).free
    return Check(
        name="storage",
        state=_disk_state(free),
        detail=f"{storage} has {free / (1 << 30):.1f} GiB free beside it",
        remedy="" if free >= _DISK_WANTED_BYTES else "free space, or set storage to another disk",
    )


def _disk_state(free_bytes: int) -> State:
    if free_bytes < _DISK_NEEDED_BYTES:
        return "failed"
    return "ok" if free_bytes >= _DISK_WANTED_BYTES else "warning"
