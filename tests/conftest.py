"""What holds for all tests."""

from __future__ import annotations

from tracejury_collector.store.without_pandas import do_without_pandas

do_without_pandas()  # as in the store process
