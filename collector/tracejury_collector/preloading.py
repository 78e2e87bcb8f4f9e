"""What forkservers import, so that the processes that are forked from them need not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

JURY = (
    "tracejury_collector.jury.catalog",
    "tracejury_collector.jury.describe",
    "tracejury_collector.jury.process",
    "tracejury_collector.jury.tracing",
    "tracejury_collector.planning",
    "tracejury_collector.roles",
    "tracejury_evaluators.plugins",
)
"""For the planner and what runs evaluators: nothing of the store."""
STORE = (
    "tracejury_collector.storing",
    "tracejury_collector.assembling.process",
    "tracejury_collector.receive.http",
    "tracejury_collector.receive.store_client",
)
"""For the others; without gRPC, which must not be loaded before a fork."""


def jury() -> None:
    """Import what the planner and evaluators run with."""
    _import_all(JURY)


def store() -> None:
    """Import what the store, the assembler and receivers run with, and leave no thread of it."""
    with _no_threads():
        from tracejury_collector.store.without_pandas import do_without_pandas

        do_without_pandas()
        _import_all(STORE)
    import duckdb

    duckdb.default_connection().close()  # it comes with the import, and has threads


def _import_all(names: tuple[str, ...]) -> None:
    for name in names:
        import_module(name)


@contextmanager
def _no_threads() -> Iterator[None]:
    """Have what is imported meanwhile start no threads: OpenBLAS, and an allocator of Arrow's."""
    quiet = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    before = {name: os.environ.get(name) for name in quiet}
    os.environ.update(quiet)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
