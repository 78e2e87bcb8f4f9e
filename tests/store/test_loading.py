"""What arrived of a trace is loaded as assembly takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.databases import open_database
from tests.helpers.store import log_row, log_table
from tracejury_collector.store.append import Appender
from tracejury_collector.store.loading import SeqRange, load_arrivals

NO_TIME = {"time": None, "observed_time": None}


@pytest.mark.parametrize(
    ("time", "observed", "expected"),
    [(7, 9, 7), (7, 0, 7), (0, 9, 9), (0, 0, 0), (0, 2**64 - 1, 2**64 - 1)],
)
def test_a_log_record_without_a_time_has_that_of_its_observation(
    tmp_path: Path, time: int, observed: int, expected: int
) -> None:
    row = log_row(**NO_TIME, time_unix_nano=time, observed_time_unix_nano=observed)
    with open_database(tmp_path / "db") as db:
        Appender(db).append("logs", log_table([row]), 0).result()
        wanted = SeqRange(trace_id=row["trace_id"], first_seq=1, last_seq=1)
        with db.read() as cursor:
            arrivals = load_arrivals(cursor, [wanted])[row["trace_id"]]
    assert [log.time_ns for log in arrivals.logs] == [expected]
