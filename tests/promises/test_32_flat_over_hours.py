"""An hour at half load with every trace judged: memory, handles, threads and log stay flat.

`TRACEJURY_SOAK_S` sets how long, `TRACEJURY_SOAK_RATE` how many spans a second.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

import httpx
import pytest

from tests.helpers.load import Load
from tests.helpers.service import RunningService, eventually, running_service
from tests.promises.accounting import assert_accounts, assert_kept, exposed
from tests.promises.flatness import MIB, Minute, growth, p99, slope, taken_by, wal_bytes

DURATION_S = float(os.environ.get("TRACEJURY_SOAK_S", "3600"))
SPANS_PER_S = float(os.environ.get("TRACEJURY_SOAK_RATE", "5000"))
LOOK_S = min(60.0, DURATION_S / 20)
WARM_UP = 0.4
"""Of the time: until caches are full and the allocators have what they keep."""

MOST_GROWTH_BYTES = 32 * MIB
"""Of a process, from the first to the last quarter after the warm-up."""
MOST_BYTES_AN_HOUR = 32 * MIB
"""By least squares over all minutes after the warm-up; both have to be passed to fail."""
MOST_MORE_FDS = 4
MOST_MORE_THREADS = 2
MOST_WAL_BYTES = 3 * (64 * MIB)
MOST_LATER = 2.0
"""Times the p99 of the first quarter."""
OPEN = "SELECT count(*) FROM traces WHERE status = 'open'"
UNJUDGED = (
    "SELECT count(*) FROM decisions AS d ANTI JOIN scores AS s "
    "ON s.trace_id = d.target_id AND s.revision = d.revision WHERE d.outcome = 'selected'"
)


@pytest.mark.slow
@pytest.mark.timeout(DURATION_S + 900)
def test_everything_stays_flat(tmp_path: Path) -> None:
    minutes: list[Minute] = []
    with running_service(tmp_path, "") as service:
        load = Load(service.otlp_http, SPANS_PER_S)
        load.start()
        started_s = time.monotonic()
        while (at_s := time.monotonic() - started_s) < DURATION_S:
            time.sleep(min(LOOK_S, DURATION_S - at_s))
            minutes.append(look(service, load, time.monotonic() - started_s))
            print(minutes[-1], flush=True)  # noqa: T201
        load.end()
        assert (load.counts.failed, load.counts.resent) == (0, 0)
        eventually(lambda: is_zero(service, OPEN), "all is finished", timeout_s=300)
        eventually(lambda: is_zero(service, UNJUDGED), "all is judged", timeout_s=300)
        assert assert_accounts(service)["spans"].stored == load.counts.spans
    assert_kept(tmp_path / "tracejury.duckdb")
    assert_flat(minutes[int(len(minutes) * WARM_UP) :])


def look(service: RunningService, load: Load, at_s: float) -> Minute:
    """Return what is taken and done at this moment."""
    return Minute(
        at_s=at_s,
        processes=taken_by(service),
        wal_bytes=wal_bytes(service.database),
        p99_s=p99(load.taken_latencies_s()),
        sent=load.counts.spans,
        stored=exposed(service)["spans"].stored,
        waiting=waiting_traces(service),
    )


def waiting_traces(service: RunningService) -> int:
    """Return how many traces are not finished, or wait for the jury."""
    lines = service.client.get(f"{service.api}/metrics").text.splitlines()
    names = ("tracejury_open_traces ", "tracejury_jury_queue{", "tracejury_jury_in_flight ")
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(names)))


def is_zero(service: RunningService, sql: str) -> bool:
    """Whether a query counts nothing; not while it is refused."""
    try:
        return service.sql(sql) == [[0]]
    except (httpx.HTTPError, AssertionError):
        return False


def assert_flat(minutes: list[Minute]) -> None:
    """Nothing grows from one quarter of these minutes to the last, or along all of them."""
    times_s = [minute.at_s for minute in minutes]
    faults = []
    for name in minutes[0].processes:
        taken = [minute.processes[name] for minute in minutes]
        memory = [float(each.pss) for each in taken]
        grown, an_hour = growth(memory), slope(times_s, memory)
        fds = growth([each.fds for each in taken])
        threads = growth([each.threads for each in taken])
        told = (
            f"{name}: {grown / MIB:+.1f} MiB ({an_hour / MIB:+.1f} MiB an hour), "
            f"{fds:+.0f} fds, {threads:+.0f} threads"
        )
        print(told, flush=True)  # noqa: T201
        if grown > MOST_GROWTH_BYTES and an_hour > MOST_BYTES_AN_HOUR:
            faults.append(told)
        if fds > MOST_MORE_FDS or threads > MOST_MORE_THREADS:
            faults.append(told)
    assert faults == []
    assert max(minute.wal_bytes for minute in minutes) < MOST_WAL_BYTES
    quarter = max(1, len(minutes) // 4)
    first, last = (
        median(m.p99_s for m in part) for part in (minutes[:quarter], minutes[-quarter:])
    )
    assert last < MOST_LATER * first + 0.05
