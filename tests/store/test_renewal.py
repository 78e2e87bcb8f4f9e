"""The file is opened anew for the memory: nobody is interrupted, and nothing is lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb

from tests.helpers.databases import fetch, open_database
from tests.helpers.store import span_row, span_table
from tracejury_collector.store import instance
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.renewal import AGAIN_S, EVERY_S, Renewal

GROWN = 1_000


class Process:
    """What a process takes, and its clock, as the test says."""

    def __init__(self) -> None:
        self.taken = 5_000
        self.now_s = 0.0

    def renewal(self, db: Database) -> Renewal:
        """Return a renewal that looks at this process."""
        return Renewal(db, GROWN, taken=lambda: self.taken, now_s=lambda: self.now_s)


def opened(db: Database) -> int:
    """Return what tells one opening of the file from the next."""
    return id(db.aside(lambda instance: instance.root).result())


def test_a_process_that_has_grown_opens_its_file_anew(tmp_path: Path) -> None:
    process = Process()
    with open_database(tmp_path / "db") as db:
        renewal, before = process.renewal(db), opened(db)
        process.taken += GROWN - 1
        assert not renewal.step()
        assert opened(db) == before
        Appender(db).append("spans", span_table([span_row()]), 0).result()
        process.taken += 1
        assert renewal.step()
        assert opened(db) != before
        assert fetch(db, "SELECT count(*) FROM base.spans") == [(1,)]
        assert db.counters()["stored", "spans"] == 1


def test_it_is_seldom(tmp_path: Path) -> None:
    process = Process()
    with open_database(tmp_path / "db") as db:
        renewal = process.renewal(db)
        process.taken += GROWN
        assert renewal.step()
        process.now_s = EVERY_S - 1
        assert not renewal.step()
        process.now_s = EVERY_S
        assert renewal.step()


def test_whoever_reads_is_waited_for_and_never_interrupted(tmp_path: Path) -> None:
    process = Process()
    with open_database(tmp_path / "db") as db:
        renewal, before = process.renewal(db), opened(db)
        process.taken += GROWN
        with db.read() as cursor:
            cursor.execute("SELECT range FROM range(10000)")
            assert not renewal.step()
            assert len(cursor.fetchall()) == 10_000
            assert opened(db) == before
            assert fetch(db, "SELECT 1") == [(1,)], "others read as before"
        assert not renewal.step(), "not at once again"
        process.now_s = AGAIN_S
        with db.read():
            assert not renewal.step()
        process.now_s += AGAIN_S
        assert not renewal.step(), "less and less often"
        process.now_s += AGAIN_S
        assert renewal.step()


def test_nobody_notices(tmp_path: Path) -> None:
    """Writers and readers go on while the file is opened anew again and again."""
    ended = threading.Event()

    def read(db: Database) -> None:
        while not ended.is_set():
            fetch(db, "SELECT count(*) FROM base.spans")

    with open_database(tmp_path / "db") as db, ThreadPoolExecutor(3) as threads:
        appender = Appender(db)
        readers = [threads.submit(read, db) for _ in range(3)]
        renewed = 0
        for number in range(40):
            table = span_table([span_row(span_id=f"{number:016x}")])
            waiting = appender.append("spans", table, 0)
            renewed += db.aside(lambda instance: instance.renew()).result()
            assert waiting.result().stored == 1
        ended.set()
        for reader in readers:
            reader.result(10)
        assert renewed > 0
        assert fetch(db, "SELECT count(*) FROM base.spans") == [(40,)]


def test_a_log_that_cannot_be_written_into_the_file_now_is_taken_in_later(tmp_path: Path) -> None:
    with open_database(tmp_path / "db") as db:
        Appender(db).append("spans", span_table([span_row()]), 0).result()

        def renew(held: instance.Instance) -> bool:
            def fail() -> None:
                raise duckdb.IOException("no")

            held.checkpoint = fail  # type: ignore[method-assign]
            return held.renew()

        assert db.aside(renew).result()
        assert fetch(db, "SELECT count(*) FROM base.spans") == [(1,)]
