"""Snapshots and compaction: the whole database in a new file, while it is in use."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.worker import Bench, bench, child, log, root
from tracejury.result import Score
from tracejury_collector.errors import Conflict, InvalidRequest, NotFound
from tracejury_collector.maintenance import Maintenance
from tracejury_collector.maintenance_log import Job
from tracejury_collector.store import removal
from tracejury_collector.store.compaction import Compaction
from tracejury_collector.store.copying import count

SECRET = "rosebud-7141"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as built:
        yield built


def maintenance(store: Bench, **given: Any) -> Maintenance:
    return Maintenance(store.db, store.config.database, store.clock, **given)


def done(desk: Maintenance, job: Job) -> Job:
    assert desk.step()
    found = desk.find(job.kind, job.id)
    assert (found.state, found.error) == ("done", "")
    return found


def fill(store: Bench) -> None:
    """Store traces: judged, judged again, open, with labels and log records."""
    store.spans(*(root(n, attributes=f'{{"t":"{SECRET} {n}"}}') for n in range(1, 8)))
    store.spans(child(1), child(2))
    store.logs(log(3))
    store.after(200)
    store.judge(Score(1.0))
    store.spans(child(4, 5))
    store.after(200)
    store.spans(root(9))


def contents(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return all rows of all tables as sorted text."""
    names = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'base'"
    ).fetchall()
    return {
        name: sorted(map(str, connection.execute(f"SELECT * FROM base.{name}").fetchall()))
        for (name,) in names
        if name != "schema_migrations"
    }


def live(store: Bench) -> dict[str, list[str]]:
    with store.db.read() as cursor:
        return contents(cursor)


def test_a_snapshot_is_the_database_and_opens_anywhere(store: Bench, tmp_path: Path) -> None:
    fill(store)
    desk = maintenance(store)
    job = desk.snapshot("backup")
    assert not (tmp_path / "backup.duckdb").exists()
    made = done(desk, job)
    assert made.path == str(tmp_path / "backup.duckdb")
    assert made.rows_copied == made.rows > 20
    elsewhere = shutil.copy(made.path, tmp_path / "elsewhere.duckdb")
    with duckdb.connect(str(elsewhere), read_only=True) as copy:
        assert contents(copy) == live(store)
        assert copy.execute("SELECT count(*) FROM traces").fetchone() == (8,)
        assert copy.execute("SELECT pass_rate FROM pass_rates").fetchall()
        comments = "SELECT comment FROM duckdb_views() WHERE view_name = 'traces'"
        assert copy.execute(comments).fetchone() != (None,)


def test_a_snapshot_serves_as_database_again(store: Bench, tmp_path: Path) -> None:
    fill(store)
    desk = maintenance(store)
    made = done(desk, desk.snapshot("again"))
    with duckdb.connect(made.path) as copy:
        position = copy.execute("SELECT max(position) FROM base.results").fetchone()
        copy.execute(
            "INSERT INTO base.results BY NAME SELECT * EXCLUDE (position) FROM base.results LIMIT 1"
        )
        later = copy.execute("SELECT max(position) FROM base.results").fetchone()
        assert position
        assert later == (position[0] + 1,)


def test_what_deleted_rows_left_is_gone_after_compaction(store: Bench, tmp_path: Path) -> None:
    fill(store)
    store.db.checkpoint().result()
    ids = [f"{n:032x}" for n in range(1, 8)]
    removal.remove_traces(store.db, ids, "erased")
    store.db.checkpoint().result()
    before = live(store)
    desk = maintenance(store)
    made = done(desk, desk.compact(max_pause_s=60))
    assert made.pause_s is not None
    assert made.estimated_pause_s is not None
    assert made.pause_s < made.estimated_pause_s
    assert live(store) == before
    store.restart()
    assert live(store).keys() == before.keys()
    assert SECRET.encode() not in b"".join(
        file.read_bytes() for file in tmp_path.iterdir() if file.is_file()
    )
    assert {f.name for f in tmp_path.iterdir()} <= {
        f"t.duckdb{end}" for end in ("", ".ledger", ".wal", ".jobs")
    }


def test_what_comes_about_while_it_copies_is_in_the_new_file(store: Bench) -> None:
    fill(store)
    compaction = Compaction(
        store.db, f"{store.path}.compacted", store.config.database, lambda _: None
    )
    compaction.catch_up()
    store.spans(root(9, end_time=None), root(20), root(21))
    store.spans(child(1, 7), child(2, 8))
    store.after(200)
    store.judge(Score(0.0))
    compaction.rehearse()
    # a late span and a span sent twice: the trace is finished anew, the double one dropped
    double = child(5, 6)
    store.spans(double)
    store.appender._window._runs.clear()
    store.spans(double)
    store.after(200)
    before = live(store)
    compaction.replace(60)
    assert live(store) == before
    assert store.rows("SELECT count(*) > 0 FROM base.results WHERE superseded") == [(True,)]
    store.spans(root(30))
    store.after(200)
    assert store.judge(Score(1.0)) >= 2
    assert store.rows("SELECT count(*) FROM base.traces WHERE trace_id LIKE '%1e'") == [(1,)]


def test_a_span_dropped_as_double_after_it_was_copied_is_not_in_the_new_file(store: Bench) -> None:
    fill(store)
    double = child(5, 6)
    store.spans(double)
    store.appender._window._runs.clear()
    store.spans(double)
    compaction = Compaction(
        store.db, f"{store.path}.compacted", store.config.database, lambda _: None
    )
    compaction.catch_up()
    spans = "SELECT count(*) FROM base.spans"
    before = store.rows(spans)[0][0]
    store.after(200)
    assert store.rows(spans)[0][0] == before - 1
    compaction.replace(60)
    assert store.rows(spans)[0][0] == before - 1


def test_a_pause_that_would_be_too_long_leaves_the_file(store: Bench) -> None:
    fill(store)
    before = live(store)
    desk = maintenance(store)
    job = desk.compact(max_pause_s=0.1)
    assert desk.step()
    found = desk.find("compaction", job.id)
    assert found.state == "failed"
    assert "longer than the 0.1 s" in found.error
    assert live(store) == before
    assert [f.name for f in store.path.parent.glob("*.compacted*")] == []


def test_what_does_not_end_within_the_time_it_said_is_not_used(store: Bench) -> None:
    fill(store)
    compaction = Compaction(
        store.db, f"{store.path}.compacted", store.config.database, lambda _: None
    )
    compaction.catch_up()
    with pytest.raises(Exception, match="what is left to copy takes longer"):
        compaction.replace(0.0)
    compaction.abandon()
    store.spans(root(40))
    assert store.rows("SELECT count(*) FROM base.spans WHERE trace_id LIKE '%28'") == [(1,)]


def test_one_at_a_time_and_not_while_history_is_read_again(store: Bench) -> None:
    desk = maintenance(store)
    desk.snapshot(None)
    with pytest.raises(Conflict, match="running"):
        desk.compact()
    with pytest.raises(Conflict, match="read again"):
        maintenance(store, is_reading_again=lambda: True).compact()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a" * 101, "x\x00"])
def test_a_name_is_no_path(store: Bench, name: str) -> None:
    with pytest.raises(InvalidRequest):
        maintenance(store).snapshot(name)


def test_a_snapshot_to_be_fetched_goes_when_it_was(store: Bench) -> None:
    desk = maintenance(store)
    job = done(desk, desk.snapshot(None))
    assert Path(job.path).is_file()
    desk.forget(job.id)
    assert not Path(job.path).exists()
    with pytest.raises(NotFound):
        desk.find("snapshot", job.id)
    named = done(desk, desk.snapshot("kept"))
    with pytest.raises(Conflict, match="already"):
        desk.snapshot("kept")
    desk.forget(named.id)
    assert Path(named.path).is_file()


def test_a_full_disk_is_said_before_anything_is_copied(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(store.path.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    with pytest.raises(Conflict, match="make room"):
        maintenance(store).compact()


def test_a_service_that_stops_ends_the_copy(store: Bench) -> None:
    fill(store)
    desk = maintenance(store)
    job = desk.snapshot(None)
    desk.stop()
    assert desk.step()
    assert desk.find("snapshot", job.id).state == "failed"
    assert not Path(job.path).exists()


def test_sql_over_large_values_is_copied(store: Bench) -> None:
    store.spans(root(1, attributes='{"big":"' + "x" * 5_000_000 + '"}'))
    desk = maintenance(store)
    made = done(desk, desk.snapshot("big"))
    with duckdb.connect(made.path, read_only=True) as copy:
        assert count(copy, "spans", "strlen(attributes) > 5000000") == 1


KILLED: dict[str, Callable[[str], str]] = {
    "while it copies": lambda die: f"mirror.supersede_sessions = {die}",
    "in the pause": lambda die: f"mirror.Mirror._rest = {die}",
    "before the files change places": lambda die: f"instance.log_files = {die}",
    "right after": lambda die: f"instance.sync = {die}",
    "before it is open": lambda die: f"instance.Instance._open = {die}",
}
SCRIPT = """
import os, signal
from pathlib import Path
from tracejury_collector.config import parse_config
from tracejury_collector import maintenance
from tracejury_collector.maintenance import Maintenance
from tracejury_collector.store import instance, mirror
from tracejury_collector.store.database import Database
config = parse_config({{"storage": {path!r}}})
db = Database.open(config.storage, config.database)
desk = Maintenance(db, config.database)
maintenance._LEAST_PAUSE_S = 30.0  # a machine that is busy kills too
desk.compact(max_pause_s=60)
{killed}
desk.step()
"""


@pytest.mark.parametrize(
    "moment",
    [m if m == "right after" else pytest.param(m, marks=pytest.mark.slow) for m in KILLED],
)
def test_a_kill_at_any_moment_leaves_one_of_the_files_whole(store: Bench, moment: str) -> None:
    fill(store)
    before = live(store)
    store.db.close()
    die = "lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
    script = SCRIPT.format(path=str(store.path), killed=KILLED[moment](die))
    ended = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert ended.returncode == -9
    store.open()
    after = live(store)
    assert {name: rows for name, rows in after.items() if name != "ledger"} == {
        name: rows for name, rows in before.items() if name != "ledger"
    }
    maintenance(store)
    assert [f.name for f in store.path.parent.glob("*.compacted*")] == []


def test_a_restart_says_what_became_of_the_copies_before_it(store: Bench, tmp_path: Path) -> None:
    fill(store)
    desk = maintenance(store)
    fetched = done(desk, desk.snapshot(None))
    gone = done(desk, desk.snapshot(None))
    Path(gone.path).unlink()
    begun = desk.compact()
    (tmp_path / f"{store.path.name}.compacted").write_bytes(b"half")
    (tmp_path / f"{store.path.name}.snapshot-1").write_bytes(b"half")
    desk = maintenance(store)
    assert desk.find("snapshot", fetched.id) == fetched
    assert "gone" in desk.find("snapshot", gone.id).error
    (found,) = desk.jobs("compaction")
    assert (found.id, found.state) == (begun.id, "failed")
    assert "interrupted" in found.error
    assert sorted(f.name for f in tmp_path.iterdir() if "snapshot" in f.name) == [
        Path(fetched.path).name
    ]
    assert not desk.step()
    done(desk, desk.compact(max_pause_s=60))
    desk.forget(fetched.id)
    assert [job.id for job in maintenance(store).jobs("snapshot")] == [gone.id]


@pytest.mark.parametrize("spoiled", [b"", b"[{}]", b"\xff", b'[{"id": 1}]'])
def test_a_spoiled_list_of_copies_is_forgotten(store: Bench, spoiled: bytes) -> None:
    Path(f"{store.path}.jobs").write_bytes(spoiled)
    assert maintenance(store).jobs("compaction") == []
