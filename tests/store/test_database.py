"""The database file: migrations, group commit, damage, and the end of a process at any moment."""

from __future__ import annotations

import logging
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from tests.helpers.databases import SETTINGS, fetch, open_database
from tests.helpers.store import span_row, span_table
from tracejury_collector import files
from tracejury_collector.errors import ConfigError, Unavailable
from tracejury_collector.store import migrate
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.migrate import Migration, migrations

_INSERT = "INSERT INTO base.attempts VALUES (?, 'e', 'f', 1, now()::TIMESTAMP)"


def _insert(name: str, connection: duckdb.DuckDBPyConnection) -> str:
    connection.execute(_INSERT, [name])
    return name


def _names(db: Database) -> list[str]:
    return [name for (name,) in fetch(db, "SELECT decision_id FROM base.attempts ORDER BY 1")]


def test_a_fresh_file_has_every_migration_once(tmp_path: Path) -> None:
    for _ in range(2):
        with open_database(tmp_path / "db") as db:
            rows = fetch(db, "SELECT version, name FROM base.schema_migrations ORDER BY 1")
    assert rows == [(m.version, m.name) for m in migrations()]
    assert [version for version, _ in rows] == list(range(1, len(rows) + 1))


def test_a_file_of_a_newer_release_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with open_database(path) as db:
        db.write(
            lambda c: c.execute(
                "INSERT INTO base.schema_migrations VALUES (999, 'x', now()::TIMESTAMP)"
            )
        ).result()
    with pytest.raises(ConfigError, match=r"layout 999.*newer release"):
        Database.open(str(path), SETTINGS)
    assert path.exists()


def test_a_failing_migration_leaves_nothing_behind() -> None:
    steps = [
        Migration(version=1, name="good", sql="CREATE TABLE base.a (i INTEGER)"),
        Migration(version=2, name="bad", sql="CREATE TABLE base.b (i INTEGER); SELECT nothing"),
    ]
    connection = duckdb.connect(":memory:")
    with pytest.raises(duckdb.BinderException):
        migrate.migrate(connection, steps)
    assert connection.execute("SELECT version FROM base.schema_migrations").fetchall() == [(1,)]
    tables = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
    assert tables == [("a",), ("schema_migrations",)]
    connection.close()


def test_a_write_is_answered_after_its_commit_and_can_be_read(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        assert db.write(lambda c: _insert("a", c)).result() == "a"
        assert _names(db) == ["a"]


def test_a_failing_write_fails_alone(tmp_path: Path) -> None:
    def fail(connection: duckdb.DuckDBPyConnection) -> None:
        _insert("never", connection)
        raise LookupError("no")

    with open_database(tmp_path / "db") as db:
        go = threading.Event()
        db.write(lambda _: go.wait(30))
        futures = [db.write(lambda c, n=n: _insert(n, c)) for n in ("a", "b")]  # type: ignore[misc]
        failing = db.write(fail)
        futures.append(db.write(lambda c: _insert("c", c)))
        go.set()
        assert [future.result() for future in futures] == ["a", "b", "c"]
        with pytest.raises(LookupError):
            failing.result()
        assert _names(db) == ["a", "b", "c"]


def test_an_error_that_an_operation_swallows_spoils_no_neighbor(tmp_path: Path) -> None:
    def swallow(connection: duckdb.DuckDBPyConnection) -> None:
        try:
            connection.execute("INSERT INTO base.attempts VALUES (NULL, '', '', 1, NULL)")
        except duckdb.ConstraintException:
            return

    with open_database(tmp_path / "db") as db:
        go = threading.Event()
        db.write(lambda _: go.wait(30))
        swallowing = db.write(swallow)
        good = db.write(lambda c: _insert("a", c))
        go.set()
        assert good.result() == "a"
        assert swallowing.exception() is not None
        assert _names(db) == ["a"]


def test_closing_finishes_what_is_queued(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        futures = [db.write(lambda c, n=str(n): _insert(n, c)) for n in range(200)]  # type: ignore[misc]
    assert {future.result() for future in futures} == {str(n) for n in range(200)}
    assert not list(tmp_path.glob("*wal"))
    with open_database(tmp_path / "db") as db:
        assert len(_names(db)) == 200


def test_a_full_disk_refuses_writes_and_keeps_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_database(tmp_path / "db") as db:
        db.write(lambda c: _insert("a", c)).result()
        monkeypatch.setattr(files, "MIN_FREE_BYTES", 1 << 60)
        with pytest.raises(Unavailable, match="free"):
            db.write(lambda c: _insert("b", c)).result()
        assert _names(db) == ["a"]
        monkeypatch.undo()
        db.write(lambda c: _insert("c", c)).result()
        assert _names(db) == ["a", "c"]


def test_a_file_that_another_process_holds_is_refused(tmp_path: Path) -> None:
    with open_database(tmp_path / "db"):
        code = (
            "import sys\n"
            "from tracejury_collector.config import StorageSettings\n"
            "from tracejury_collector.store.database import Database\n"
            "Database.open(sys.argv[1], StorageSettings())\n"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "db")]
        other = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "InUse" in other.stderr
    assert "another process" in other.stderr


@pytest.mark.parametrize("where", ["missing/db", "."])
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path, where: str) -> None:
    with pytest.raises(ConfigError, match="storage"):
        Database.open(str(tmp_path / where), SETTINGS)


def _crash(path: Path, count: int) -> list[str]:
    """Let a process append batches of three spans and kill it; return the ids it acknowledged."""
    code = """
import sys
from tests.helpers.databases import SETTINGS
from tests.helpers.store import span_row, span_table
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
appender = Appender(Database.open(sys.argv[1], SETTINGS))
n = int(sys.argv[2])
while True:
    ids = [f"{n + i:016x}" for i in range(3)]
    appender.append("spans", span_table(span_row(span_id=i) for i in ids), 0).result()
    print(*ids, flush=True)
    n += 3
"""
    command = [sys.executable, "-c", code, str(path), str(count)]
    acknowledged: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            acknowledged += line.split()
            if len(acknowledged) >= 60:
                process.send_signal(signal.SIGKILL)
                break
        acknowledged += [i for line in process.stdout if line.endswith("\n") for i in line.split()]
    return acknowledged


def test_a_killed_process_keeps_every_acknowledged_span_once(tmp_path: Path) -> None:
    path = tmp_path / "db"
    acknowledged: list[str] = []
    for round_ in range(3):
        acknowledged += _crash(path, 1000 * round_)
        with open_database(path) as db:
            resent = span_table(span_row(span_id=i) for i in acknowledged)
            answer = Appender(db).append("spans", resent, 0).result()
            rows = fetch(db, "SELECT span_id, count(*), min(seq) FROM base.spans GROUP BY 1")
            ((seqs, last),) = fetch(db, "SELECT count(DISTINCT seq), max(seq) FROM base.spans")
        assert answer.stored == 0
        assert {n for _, n, _ in rows} == {1}
        assert set(acknowledged) <= {span_id for span_id, _, _ in rows}
        assert seqs == last == len(rows)


@pytest.mark.slow
def test_a_disk_that_fills_up_loses_nothing_and_the_database_heals_itself(tmp_path: Path) -> None:
    code = """
import random, resource, sys
from tests.helpers.store import span_row, span_table
from tracejury.errors import TracejuryError
from tracejury_collector.config import StorageSettings
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
import duckdb

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

random.seed(1)
settings = StorageSettings(memory=128 << 20, threads=1, checkpoint_wal=int(sys.argv[2]))
db = Database.open(sys.argv[1], settings)
appender = Appender(db)
stored, failed = [], []
for n in range(40):
    if n in (5, 25):
        limit(2_000_000 if n == 5 else resource.RLIM_INFINITY)
    table = span_table(
        span_row(span_id=f"{10 * n + i:016x}", input=random.randbytes(10_000).hex())
        for i in range(10)
    )
    try:
        answer = appender.append("spans", table, 0).result(timeout=60)
        stored.append(answer.stored)
    except (TracejuryError, duckdb.OperationalError):
        failed.append(table)
assert len(failed) > 5 and len(stored) > 15, (len(failed), len(stored))
for table in failed:
    stored.append(appender.append("spans", table, 0).result(timeout=60).stored)
with db.read() as cursor:
    row = cursor.execute(
        "SELECT count(*), count(DISTINCT span_id), max(seq), count(DISTINCT seq) FROM base.spans"
    ).fetchone()
db.close()
assert (row, sum(stored)) == ((400, 400, 400, 400), 400), (row, stored)
"""
    for checkpoint_bytes in (1 << 20, 1 << 30):
        path = tmp_path / f"{checkpoint_bytes}"
        command = [sys.executable, "-c", code, str(path), str(checkpoint_bytes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        assert not list(tmp_path.glob("*damaged*"))


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """Give a database file with one checkpointed and many logged commits."""
    path = tmp_path / "live" / "db"
    path.parent.mkdir()
    with open_database(path) as db:
        db.write(lambda c: _insert("first", c)).result()
    with open_database(path) as db:
        for n in range(20):
            db.write(lambda c, n=n: _insert(f"row-{n}", c)).result()  # type: ignore[misc]
        shutil.copytree(path.parent, tmp_path / "crashed")
    return tmp_path / "crashed" / "db"


def _flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(bytes(data))


def test_a_damaged_log_is_set_aside_and_the_file_is_kept(
    crashed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = crashed.with_name("db.wal")
    _flip(log, log.read_bytes().index(b"row-7"))
    with caplog.at_level(logging.CRITICAL), open_database(crashed) as db:
        assert _names(db) == ["first"]
        db.write(lambda c: _insert("next", c)).result()
    assert len(list(crashed.parent.glob("db.wal.damaged-*"))) == 1
    messages = [record.getMessage() for record in caplog.records]
    assert any("set aside" in message and "db.wal" in message for message in messages)
    assert any("the last 20 acknowledged commits are missing" in message for message in messages)


def test_a_shortened_log_is_reported(crashed: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = crashed.with_name("db.wal")
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    with caplog.at_level(logging.CRITICAL), open_database(crashed) as db:
        kept = len(_names(db)) - 1
    assert 0 < kept < 20
    assert f"the last {20 - kept} acknowledged commits are missing" in caplog.text


@pytest.mark.parametrize("content", [b"no database", b"\x00" * 20_000])
def test_a_damaged_file_is_set_aside_and_a_fresh_one_started(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "db"
    path.write_bytes(content)
    path.with_name("db.ledger").touch()
    with caplog.at_level(logging.CRITICAL), open_database(path) as db:
        assert _names(db) == []
    (kept,) = tmp_path.glob("db.damaged-*")
    assert kept.read_bytes() == content
    assert kept.name in caplog.text


def test_an_undamaged_crash_is_not_reported(
    crashed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), open_database(crashed) as db:
        assert len(_names(db)) == 21
    assert caplog.records == []
