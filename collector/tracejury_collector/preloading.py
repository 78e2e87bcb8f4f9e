"""What forkservers import, so that the processes that are forked from them need not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def jury() -> None:
    """Import what evaluators run with, and nothing of the store."""
    import tracejury_evaluators.plugins  # noqa: F401


def store() -> None:
    """Import what the store, the assembler and receivers run with.

    But not gRPC, which must be loaded after a fork.
    """
    with _no_threads():
        from tracejury_collector.store.without_pandas import do_without_pandas

        do_without_pandas()
        import duckdb

        import tracejury_collector.assembling.process
        import tracejury_collector.receive.http
        import tracejury_collector.receive.store_client
        import tracejury_collector.storing  # noqa: F401

    # the instance in memory that comes with the import has threads
    duckdb.default_connection().close()


@contextmanager
def _no_threads() -> Iterator[None]:
    """Have what is imported meanwhile start no threads: OpenBLAS, and the allocator of Arrow."""
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
