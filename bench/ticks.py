"""What a tick of the worker takes over a long history, in processor time.

Usage: python bench/ticks.py DATABASE [--ticks N] [--traces N] (DATABASE: bench/history.py)

Traces of ten spans are stored, then finished by one tick that decides for two evaluators, in one
process. Assembling is timed apart, since the service does it in another. The database is not
copied: it grows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.helpers.store import span_row
from tests.helpers.worker import JUDGED, Bench, Clock

from tracejury_collector.assembling.assembly import InProcess
from tracejury_collector.assembling.batch import Assembled, Batch
from tracejury_collector.config import parse_config
from tracejury_collector.store.without_pandas import do_without_pandas

SPANS = 10
FINISHED_S = 4
SETTLED_S = 300


class Timed:
    """Assembling in this process, and what that took so far."""

    lost = 0
    spent_s = 0.0

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Assembled]:
        """Yield what is made of each batch."""
        for batch in batches:
            began_s = time.process_time()
            made = list(InProcess()([batch]))
            self.spent_s += time.process_time() - began_s
            yield from made


def store_traces(running: Bench, traces: int) -> None:
    """Store finished traces of new ids."""
    ids = [uuid4().hex for _ in range(traces)]
    spans = [(trace_id, f"{n + 1:016x}") for trace_id in ids for n in range(SPANS)]
    running.spans(
        *(
            span_row(
                trace_id=trace_id,
                span_id=span_id,
                parent_span_id="" if span_id == f"{1:016x}" else f"{1:016x}",
                start_time=running.clock.now_ns,
                start_time_unix_nano=running.clock.now_ns,
                end_time=running.clock.now_ns + 1,
                end_time_unix_nano=running.clock.now_ns + 1,
            )
            for trace_id, span_id in spans
        )
    )


def tick_ms(running: Bench, assembling: Timed, traces: int) -> tuple[float, float]:
    """Return what one tick over so many traces takes, and what assembling took of it."""
    store_traces(running, traces)
    running.clock.advance(FINISHED_S)
    before_s, began_s = assembling.spent_s, time.process_time()
    finished = running.worker.tick()
    spent_s = time.process_time() - began_s
    assert finished == traces
    return spent_s * 1e3, (assembling.spent_s - before_s) * 1e3


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", type=Path)
    parser.add_argument("--ticks", type=int, default=20)
    parser.add_argument("--traces", type=int, default=20)
    wanted = parser.parse_args()
    do_without_pandas()
    assembling = Timed()
    running = Bench(
        path=wanted.database,
        config=parse_config({"rules": JUDGED}),
        clock=Clock(time.time_ns()),
    )
    running.open()
    running.worker.assembling = assembling
    running.clock.advance(SETTLED_S)
    while running.worker.tick():
        pass
    taken = [tick_ms(running, assembling, wanted.traces) for _ in range(wanted.ticks)]
    running.db.close()
    figures = {
        "tick_cpu_ms": round(statistics.median(all_ms - part_ms for all_ms, part_ms in taken), 1),
        "assembling_cpu_ms": round(statistics.median(part_ms for _, part_ms in taken), 1),
    }
    print(json.dumps({"traces": wanted.traces, **figures}))


if __name__ == "__main__":
    main()
