"""What the service's processes are forked from, and what stands in their environment."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Final

from tracejury_collector.children import ChildSpec, Fork

JURY: Final = "jury-forkserver"
STORE: Final = "store-forkserver"
_LAST_STAGE = 9
_PLAIN: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|VIRTUAL_ENV|PYTHON[A-Z]+"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|SSL_CERT_(FILE|DIR)|TRACEJURY_(LOG_LEVEL|FAILPOINTS)"
)
"""What a Python process needs to run; nobody puts secrets there."""


def plain(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what every process gets, and all that stands in a process table."""
    return {name: value for name, value in environ.items() if _PLAIN.fullmatch(name)}


def forkservers(environ: Mapping[str, str]) -> list[ChildSpec]:
    """Return what the others are forked from.

    That of the store is itself a fork of that of the jury, so that all share what both import. The
    other way round, what runs evaluators would have the store's modules within reach.
    """

    def server(name: str, prepare: str, parent: str = "") -> ChildSpec:
        args = (f"tracejury_collector.preloading:{prepare}", name)
        fork = Fork(server=parent, call="tracejury_collector.forkserver:main", args=args)
        return ChildSpec(
            name=name,
            argv=command("forkserver", *args),
            settings=b"",
            environ=environ,
            fork=fork if parent else None,
            serves=True,
            stage=_LAST_STAGE,
        )

    return [
        server(JURY, "jury"),
        server(STORE, "store", JURY),
    ]


def command(module: str, *args: str) -> tuple[str, ...]:
    """Return what starts a module of this package afresh."""
    return (sys.executable, "-P", "-m", f"tracejury_collector.{module}", *args)
