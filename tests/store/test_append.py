"""What the receivers hand over is stored once, in order, and counted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tests.helpers.databases import fetch, open_database
from tests.helpers.store import log_row, log_table, span_row, span_table
from tracejury_collector.errors import MalformedRequest, Unavailable
from tracejury_collector.store.append import Appended, Appender, Signal
from tracejury_collector.store.database import Database

NOW_NS = 1_790_000_100_000_000_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with open_database(tmp_path / "db") as database:
        yield database


START_NS = 1_790_000_000_000_000_000


def _spans(*ids: int, trace: int = 1, **overrides: object) -> pa.Table:
    return span_table(
        span_row(trace_id=f"{trace:032x}", span_id=f"{i:016x}", **overrides) for i in ids
    )


def _balance(db: Database, signal: Signal) -> dict[str, int]:
    return {name: n for (name, of), n in db.counters().items() if of == signal}


def test_new_spans_are_stored_in_the_order_they_came(db: Database) -> None:
    appender = Appender(db, lambda: NOW_NS)
    assert appender.append("spans", _spans(3, 1, 2), 0).result() == Appended(stored=3, duplicate=0)
    rows = fetch(db, "SELECT seq, span_id, epoch_ns(received_at) FROM base.spans ORDER BY seq")
    assert rows == [(n, f"{i:016x}", NOW_NS) for n, i in ((1, 3), (2, 1), (3, 2))]


def test_seq_runs_over_spans_and_logs_together(db: Database) -> None:
    appender = Appender(db)
    appender.append("spans", _spans(1, 2), 0).result()
    appender.append("logs", log_table([log_row()]), 0).result()
    appender.append("spans", _spans(3), 0).result()
    rows = fetch(db, "SELECT seq FROM base.spans UNION ALL SELECT seq FROM base.logs ORDER BY 1")
    assert rows == [(1,), (2,), (3,), (4,)]
    assert fetch(db, "SELECT seq FROM base.logs") == [(3,)]


def test_seq_goes_on_after_a_restart(tmp_path: Path) -> None:
    for ids in ((1, 2), (3, 4)):
        with open_database(tmp_path / "db") as db:
            Appender(db).append("spans", _spans(*ids), 0).result()
    with open_database(tmp_path / "db") as db:
        assert fetch(db, "SELECT seq, span_id FROM base.spans ORDER BY seq") == [
            (n, f"{n:016x}") for n in (1, 2, 3, 4)
        ]


def test_every_column_keeps_its_value(db: Database) -> None:
    row = span_row(
        attributes='{"a":[1,{"b":null}],"n":9007199254740993}',
        events='[{"name":"e","time_unix_nano":18446744073709551615,"attributes":{}}]',
        input="é\x00\U0001f600",
        output="",
        cost_usd=0.25,
        input_tokens=2**62,
        start_time=None,
        start_time_unix_nano=2**64 - 1,
        flags=2**32 - 1,
        error_type=None,
    )
    Appender(db).append("spans", span_table([row]), 0).result()
    with db.read() as cursor:
        found = cursor.execute("FROM base.spans").to_arrow_table()
    stored = span_table([row]).drop_columns(["marker", "is_label", "labels"])
    for name in stored.column_names:
        assert found[name].combine_chunks().equals(stored[name].combine_chunks()), name


def test_dictionary_encoded_text_is_taken_as_it_is(db: Database) -> None:
    appender = Appender(db)
    plain = _spans(1, 2)
    place = plain.schema.get_field_index
    encoded = _spans(3, 4, resource='{"attributes":{"a":1}}')
    for name in ("resource", "project", "model", "attributes"):
        encoded = encoded.set_column(place(name), name, encoded[name].dictionary_encode())
    with _Held(db):
        futures = [appender.append("spans", table, 0) for table in (plain, encoded)]
    assert [future.result().stored for future in futures] == [2, 2]
    assert fetch(db, "SELECT count(*), count(DISTINCT resource) FROM base.spans") == [(4, 2)]


def test_a_resent_batch_is_not_stored_again(db: Database) -> None:
    appender = Appender(db)
    appender.append("spans", _spans(1, 2), 0).result()
    again = appender.append("spans", _spans(2, 3, 3, 1), 0).result()
    assert again == Appended(stored=1, duplicate=3)
    assert fetch(db, "SELECT span_id FROM base.spans ORDER BY seq") == [
        (f"{i:016x}",) for i in (1, 2, 3)
    ]


def test_a_batch_resent_after_a_restart_is_not_stored_again(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        appender = Appender(db)
        appender.append("spans", _spans(1, 2), 0).result()
        appender.append("logs", log_table([log_row()]), 0).result()
    with open_database(tmp_path / "db") as db:
        appender = Appender(db)
        assert appender.append("spans", _spans(1, 2, 3), 0).result().duplicate == 2
        assert appender.append("logs", log_table([log_row()]), 0).result().duplicate == 1


def test_a_batch_resent_after_a_long_stop_is_not_stored_again(tmp_path: Path) -> None:
    now_ns = START_NS
    with open_database(tmp_path / "db") as db:
        Appender(db, lambda: now_ns).append("spans", _spans(1, 2), 0).result()
    now_ns += 30 * 86_400 * 10**9
    with open_database(tmp_path / "db") as db:
        appender = Appender(db, lambda: now_ns)
        appender.append("spans", _spans(3), 0).result()  # what comes first forgets nothing
        assert appender.append("spans", _spans(1, 2), 0).result().duplicate == 2


def test_the_same_span_with_other_content_is_kept(db: Database) -> None:
    appender = Appender(db)
    appender.append("spans", _spans(1, end_time=None, end_time_unix_nano=0), 0).result()
    assert appender.append("spans", _spans(1), 0).result().stored == 1


def test_batches_that_wait_at_the_same_moment_share_one_commit(db: Database) -> None:
    appender = Appender(db)
    appender.append("spans", _spans(0), 0).result()
    ((before,),) = fetch(db, "SELECT commit_id FROM base.ledger")
    with _Held(db):
        futures = [appender.append("spans", _spans(i % 30), 0) for i in range(1, 41)]
    stored = [future.result().stored for future in futures]
    assert stored == [1] * 29 + [0] + [0] * 10
    ((after,),) = fetch(db, "SELECT commit_id FROM base.ledger")
    assert after - before <= 3


def test_received_is_stored_and_duplicate_and_rejected_and_shed(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        appender = Appender(db)
        appender.append("spans", _spans(1, 2, 2), 4).result()
        appender.append("spans", _spans(1), 0).result()
        appender.append("logs", log_table([]), 1).result()
        appender.account("spans", rejected=2, shed=7, shed_requests=1).result()
    with open_database(tmp_path / "db") as db:
        assert _balance(db, "spans") == {
            "received": 17,
            "stored": 2,
            "duplicate": 2,
            "rejected": 6,
            "shed": 7,
            "shed_requests": 1,
        }
        assert _balance(db, "logs") == {"received": 1, "rejected": 1}
        assert fetch(db, "SELECT value FROM base.counters WHERE name = 'shed'") == [(7,)]


def test_what_is_not_committed_is_not_counted(db: Database) -> None:
    def fail(_: duckdb.DuckDBPyConnection) -> None:
        db.tally("spans", received=100)
        raise LookupError("no")

    with pytest.raises(LookupError):
        db.write(fail).result()
    Appender(db).append("spans", _spans(1), 0).result()
    assert _balance(db, "spans") == {"received": 1, "stored": 1}


def test_a_write_that_fails_in_the_same_commit_does_not_harm_a_batch(db: Database) -> None:
    appender = Appender(db)

    def fail(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("INSERT INTO base.nothing VALUES (1)")

    with _Held(db):
        failing = db.write(fail)
        futures = [appender.append("spans", _spans(i), 0) for i in (1, 1, 2)]
        after = db.write(fail)
    assert [future.result().stored for future in futures] == [1, 0, 1]
    for future in (failing, after):
        with pytest.raises(duckdb.CatalogException):
            future.result()
    assert _balance(db, "spans") == {"received": 3, "stored": 2, "duplicate": 1}


def test_a_batch_that_the_database_refuses_fails_alone(db: Database) -> None:
    appender = Appender(db)
    tables = [_spans(1), _spans(2, resource="{not json"), _spans(3)]
    place = tables[0].schema.get_field_index("resource")
    encoded = [t.set_column(place, "resource", t["resource"].dictionary_encode()) for t in tables]
    with _Held(db):
        futures = [appender.append("spans", table, 0) for table in encoded]
    assert futures[0].result().stored == 1
    assert futures[2].result().stored == 1
    with pytest.raises(duckdb.Error):
        futures[1].result()
    assert fetch(db, "SELECT seq, span_id FROM base.spans ORDER BY 1") == [
        (1, f"{1:016x}"),
        (2, f"{3:016x}"),
    ]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"trace_id": ["a"]}),
        _spans(1).drop_columns(["marker"]),
        _spans(1).append_column("extra", pa.array([1])),
        _spans(1).append_column("name", pa.array(["twice"])),
        _spans(1).set_column(7, "name", pa.array([None], pa.string())),
        _spans(1).set_column(2, "duration_ns", pa.array(["x"])),
        log_table([log_row()]),
    ],
    ids=["one column", "missing", "unknown", "double", "null", "type", "other signal"],
)
def test_a_table_that_is_not_as_agreed_is_refused(db: Database, table: pa.Table) -> None:
    with pytest.raises(MalformedRequest):
        Appender(db).append("spans", table, 0)


def test_a_closed_database_takes_no_more(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        appender = Appender(db)
    with pytest.raises(Unavailable):
        appender.append("spans", _spans(1), 0).result(timeout=10)


def test_a_batch_whose_answer_nobody_awaits_any_more_harms_no_other(db: Database) -> None:
    appender = Appender(db)
    with _Held(db):
        futures = [appender.append("spans", _spans(i), 0) for i in (1, 2)]
        assert not futures[0].cancel()
    assert futures[1].result().stored == 1
    assert appender.append("spans", _spans(3), 0).result().stored == 1


def test_a_clock_that_goes_back_does_not_disorder_arrivals(db: Database) -> None:
    times = iter([NOW_NS, NOW_NS + 5, NOW_NS - 10**12, NOW_NS + 9])
    appender = Appender(db, lambda: next(times))
    for i in (1, 2, 3):
        appender.append("spans", _spans(i), 0).result()
    rows = fetch(db, "SELECT epoch_ns(received_at) FROM base.spans ORDER BY seq")
    assert rows == [(NOW_NS + 5,), (NOW_NS + 5,), (NOW_NS + 9,)]


def test_an_open_trace_says_what_has_arrived_of_it(db: Database) -> None:
    times = iter([NOW_NS, NOW_NS + 1, NOW_NS + 2, NOW_NS + 3])
    appender = Appender(db, lambda: next(times))
    child = {"parent_span_id": "f" * 16}
    first = span_table(
        [
            span_row(trace_id="a" * 32, span_id="1" * 16, service_name="one", project="p", **child),
            span_row(trace_id="b" * 32, span_id="1" * 16, end_time_unix_nano=0, end_time=None),
            span_row(trace_id="a" * 32, span_id="2" * 16, service_name="two", **child),
        ]
    )
    appender.append("spans", first, 0).result()
    appender.append("logs", log_table([log_row(trace_id="a" * 32)]), 0).result()
    second = [
        span_row(trace_id="a" * 32, span_id="3" * 16, marker=True),
        span_row(trace_id="c" * 32, span_id="1" * 16),
    ]
    appender.append("spans", span_table(second), 0).result()
    rows = fetch(
        db,
        """
        SELECT trace_id[1], project, service_name, epoch_ns(first_seen), epoch_ns(last_seen),
            first_seq, last_seq, root_seen, root_ended, marker_seen, span_count
        FROM base.open_traces ORDER BY trace_id
        """,
    )
    assert rows == [
        ("a", "p", "one", NOW_NS + 1, NOW_NS + 3, 1, 5, True, True, True, 3),
        ("b", "default", "booking", NOW_NS + 1, NOW_NS + 1, 2, 2, True, False, False, 1),
        ("c", "default", "booking", NOW_NS + 3, NOW_NS + 3, 6, 6, True, True, False, 1),
    ]


def test_a_log_record_opens_a_trace(db: Database) -> None:
    Appender(db).append("logs", log_table([log_row()]), 0).result()
    rows = fetch(db, "SELECT root_seen, marker_seen, span_count FROM base.open_traces")
    assert rows == [(False, False, 0)]


def test_a_resent_span_is_no_arrival(db: Database) -> None:
    appender = Appender(db)
    appender.append("spans", _spans(1), 0).result()
    before = fetch(db, "FROM base.open_traces")
    appender.append("spans", _spans(1), 0).result()
    assert fetch(db, "FROM base.open_traces") == before


def test_more_than_one_commit_can_hold_is_stored_as_well(db: Database) -> None:
    appender = Appender(db)
    tables = [_spans(*range(n * 6000, (n + 1) * 6000)) for n in range(4)]
    with _Held(db):
        futures = [appender.append("spans", table, 0) for table in tables]
    assert sum(future.result().stored for future in futures) == 24_000
    assert fetch(db, "SELECT count(DISTINCT seq), max(seq) FROM base.spans") == [(24_000, 24_000)]


class _Held:
    """Keeps the writer busy, so that what is handed over meanwhile waits."""

    def __init__(self, db: Database) -> None:
        self._go = threading.Event()
        self._db = db

    def __enter__(self) -> None:
        def wait(_: duckdb.DuckDBPyConnection) -> None:
            self._go.wait(30)

        self._busy = self._db.write(wait)

    def __exit__(self, *_: object) -> None:
        self._go.set()
        self._busy.result()
