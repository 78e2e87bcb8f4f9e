"""The catalog of evaluators, asked of a process that imports the plugins in our stead."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from tracejury_collector.config import Config
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.catalog import Catalog, catalog_of
from tracejury_evaluators.plugins import ENTRY_POINT_GROUP, FILE_SCHEME, PluginRegistry

DESCRIBE_S = 30.0
MAX_BYTES = 16 << 20
_REMEDY = "leave what it does at import to its evaluators, or take it out of the configuration"


def describe(
    config: Config,
    folder: Path,
    *,
    environ: Mapping[str, str] | None = None,
    limit_s: float = DESCRIBE_S,
) -> Catalog:
    """Return what evaluators there are; plugins are imported in a process of their own.

    `folder` is where the paths of plugins start; `environ` is all that plugins find in their
    environment, left out what this process has.
    Raises: ConfigError naming the plugin or evaluator that cannot be used, and the remedy.
    """
    if not _has_plugins(config):
        return catalog_of(config, PluginRegistry(folder))
    return describe_apart(config, folder, environ=environ, limit_s=limit_s)


def describe_apart(
    config: Config,
    folder: Path,
    *,
    names: Collection[str] | None = None,
    environ: Mapping[str, str] | None = None,
    limit_s: float = DESCRIBE_S,
) -> Catalog:
    """Return what a process of its own says of the evaluators; `names` leaves out the others.

    Raises: ConfigError as `describe` does.
    """
    with _asked(config, folder, names, environ) as process:
        return _heard(process, time.monotonic() + limit_s, limit_s)


def _has_plugins(config: Config) -> bool:
    named = config.plugins or entry_points(group=ENTRY_POINT_GROUP)
    return bool(named) or FILE_SCHEME in config.model_dump_json(include={"evaluators"})


@contextlib.contextmanager
def _asked(
    config: Config,
    folder: Path,
    names: Collection[str] | None,
    environ: Mapping[str, str] | None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Give the process at work; it is ended with all that it started."""
    order = {
        "config": config.model_dump_json(),
        "folder": str(folder),
        "names": None if names is None else list(names),
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tracejury_collector.jury.describing"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=None if environ is None else {**environ},
        start_new_session=True,
    )
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(orjson.dumps(order) + b"\n")
            process.stdin.flush()
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _heard(process: subprocess.Popen[bytes], deadline_s: float, limit_s: float) -> Catalog:
    doing = "plugins: starting to import them"
    for line in _lines(process, deadline_s):
        if line is None:
            raise ConfigError(f"{doing} took longer than {limit_s:g} s; {_REMEDY}")
        if "doing" in line:
            doing = str(line["doing"])[:1000]
        elif "error" in line:
            raise ConfigError(" ".join(str(line["error"])[:4000].split()))
        else:
            return _catalog(line, doing)
    raise ConfigError(f"{doing} ended the process ({_end(process)}); {_REMEDY}")


def _lines(process: subprocess.Popen[bytes], deadline_s: float) -> Iterator[dict[str, Any] | None]:
    """Yield what the process says, line by line; None once the time is over.

    Raises: ConfigError where it says too much, or something else than we understand.
    """
    assert process.stdout is not None
    kept, size_bytes = b"", 0
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not selector.select(left_s):
                yield None
                return
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                return
            size_bytes += len(chunk)
            if size_bytes > MAX_BYTES:
                raise ConfigError(
                    f"plugins: their types take over {MAX_BYTES >> 20} MiB to describe; "
                    "make their descriptions and schemas shorter"
                )
            *lines, kept = (kept + chunk).split(b"\n")
            for line in lines:
                yield _parsed(line)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        return dict(orjson.loads(line))
    except (ValueError, TypeError) as error:
        raise ConfigError(f"plugins: what they are was said unreadably: {error}") from error


def _catalog(line: dict[str, Any], doing: str) -> Catalog:
    try:
        return Catalog.model_validate(line.get("catalog"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(
            f"{doing} gave an unusable description: {place}: {first['msg']}"
        ) from error


def _end(process: subprocess.Popen[bytes]) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = process.wait(1.0)
        return f"exit code {code}" if code >= 0 else f"signal {-code}"
    return "it closed its output"
