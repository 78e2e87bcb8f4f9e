"""A file of somebody else is refused in clear words, and stays as it was to the last bit."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.helpers.databases import SETTINGS, open_database
from tracejury_collector.errors import ConfigError
from tracejury_collector.store.database import Database


def sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE accounts (balance INTEGER)")
    connection.commit()
    connection.close()


def random_bytes(path: Path) -> None:
    path.write_bytes(os.urandom(50_000))


def text(path: Path) -> None:
    path.write_text("name,score\nann,1\n")


def other_duckdb(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE sales AS SELECT range AS id FROM range(100)")


def other_duckdb_with_a_log(path: Path) -> None:
    """A database whose last rows are in its log, as a kill leaves it."""
    other_duckdb(path)
    code = (
        "import duckdb, os, sys\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "connection.execute('INSERT INTO sales VALUES (7)')\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert path.with_name(f"{path.name}.wal").exists()


def of_a_newer_release(path: Path) -> None:
    add = "INSERT INTO base.schema_migrations VALUES (999, 'x', now()::TIMESTAMP)"
    with open_database(path) as db:
        db.write(lambda c: c.execute(add)).result()


FOREIGN: list[tuple[Callable[[Path], None], str]] = [
    (sqlite, "no DuckDB database"),
    (random_bytes, "no DuckDB database"),
    (text, "no DuckDB database"),
    (other_duckdb, r"holds other tables \(main.sales\)"),
    (other_duckdb_with_a_log, r"holds other tables \(main.sales\)"),
    (of_a_newer_release, "layout 999, this release knows up to"),
    (Path.mkdir, "set `storage` to a writable file"),
]


def contents(folder: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "folder"
        for file in folder.iterdir()
    }


@pytest.mark.parametrize(("make", "words"), FOREIGN, ids=lambda each: getattr(each, "__name__", ""))
def test_a_foreign_file_is_refused_and_untouched(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "file"
    make(path)
    before = contents(tmp_path)
    for _ in range(2):
        with pytest.raises(ConfigError, match=words):
            Database.open(str(path), SETTINGS)
        assert contents(tmp_path) == before


def test_a_database_without_tables_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "file"
    duckdb.connect(str(path)).close()
    with open_database(path):
        pass


def test_a_database_of_ours_is_known_without_its_witness(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with open_database(path) as db:
        db.write(lambda _: db.tally("spans", stored=3)).result()
    path.with_name("file.ledger").unlink()
    with open_database(path) as db:
        assert db.counters() == {("stored", "spans"): 3}
