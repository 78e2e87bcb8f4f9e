"""Traces that are read again for the jury."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.worker import bench, root
from tracejury.assemble import assemble
from tracejury.trace import Trace
from tracejury_collector.jury import traces
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.traces import TraceSource


def test_large_traces_are_not_assembled_again_for_every_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assembled = []

    def counted(*args: object, **options: object) -> Trace:
        assembled.append(1)
        return assemble(*args, **options)  # type: ignore[arg-type]

    with bench(tmp_path) as store:
        store.spans(*[root(n) for n in range(1, 33)])
        store.after(4)
        jobs = [job for _, job, _ in Intake(store.db, store.definitions.seat_of).read_all(100)]
        monkeypatch.setattr(traces, "assemble", counted)
        source = TraceSource(store.db)
        while jobs:
            taken, found = source.fetch(jobs, limit_bytes=1)
            assert jobs[0].pending.trace_key in found
            del jobs[:taken]
    assert len(assembled) < 4 * 32
