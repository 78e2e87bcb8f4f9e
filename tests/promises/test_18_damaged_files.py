"""A damaged file never blocks the start: it is kept aside, and what it cost is shown."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import duckdb
import pytest

from tests.helpers.databases import SETTINGS, fetch
from tests.helpers.service import FAST, running_service
from tests.helpers.store import span_row, span_table
from tests.promises.accounting import assert_accounts, assert_balanced, counted
from tracejury_collector.errors import Damaged, Unavailable
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.describing import describe
from tracejury_collector.store.opening import files_aside

Damage = Callable[[bytearray, Random], bytearray]
FILES = ("db", "db.wal")
CHECKPOINTED, LOGGED, BATCH = 60, 12, 20
BLOCK = 4096
ROUNDS = 34
"""Times that each damage is done to each file: 2 x 3 x 34 are more than 200."""


def flipped(data: bytearray, random: Random) -> bytearray:
    """One bit is another."""
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return data


def truncated(data: bytearray, random: Random) -> bytearray:
    """The end is missing."""
    return data[: random.randrange(len(data))]


def zeroed(data: bytearray, random: Random) -> bytearray:
    """A block of the disk is empty."""
    start = random.randrange(len(data)) // BLOCK * BLOCK
    end = min(len(data), start + BLOCK)
    data[start:end] = bytes(end - start)
    return data


DAMAGES: list[Damage] = [flipped, truncated, zeroed]


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the files of a killed store: some rows in the database, the last ones in its log."""
    live, left = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("crashed") / "files"
    random = Random(18)
    db = Database.open(str(live / "db"), SETTINGS)
    append(Appender(db), random, range(CHECKPOINTED))
    db.close()
    db = Database.open(str(live / "db"), SETTINGS)
    append(Appender(db), random, range(CHECKPOINTED, CHECKPOINTED + LOGGED))
    shutil.copytree(live, left)
    db.close()
    assert sorted(file.name for file in left.iterdir()) == ["db", "db.ledger", "db.wal"]
    return left


def append(appender: Appender, random: Random, batches: range) -> None:
    for batch in batches:
        numbers = range(batch * BATCH + 1, (batch + 1) * BATCH + 1)
        rows = [
            span_row(trace_id=f"{n:032x}", span_id=f"{n:016x}", input=random.randbytes(200).hex())
            for n in numbers
        ]
        appender.append("spans", span_table(rows), 0).result()


def started(path: Path) -> tuple[Database, Appender]:
    """Return the store, started as the service does."""
    db = Database.open(str(path), SETTINGS)

    def read() -> Appender:
        describe(db)
        return Appender(db)

    return db, db.readable(read)


def survive(folder: Path, name: str, damage: Damage, seed: int) -> None:
    """Start on damaged files, store more, start again; every acknowledged span is accounted for."""
    random = Random(f"{name} {damage.__name__} {seed}")
    file = folder / name
    file.write_bytes(damage(bytearray(file.read_bytes()), random))
    acknowledged = (CHECKPOINTED + LOGGED) * BATCH
    for start in (1, 2):
        db, appender = started(folder / "db")
        try:
            append(appender, random, range(1000 * start, 1000 * start + 1))
            with contextlib.suppress(duckdb.Error, Unavailable):
                db.checkpoint().result()
            append(appender, random, range(1000 * start + 1, 1000 * start + 2))
            accounts = counted(db)
            assert_balanced(accounts)
            lost = db.counters().get(("lost", "spans"), 0)
            assert accounts["spans"].stored + lost == acknowledged + 2 * BATCH * start
            assert_readable_or_told(db, accounts["spans"].stored)
        finally:
            db.close()
    if lost and name == "db":
        assert any(kept.startswith("db.damaged") for kept in files_aside(str(folder / "db")))


def assert_readable_or_told(db: Database, stored: int) -> None:
    """Rows that are damaged where no start needs them are told when they are read."""
    try:
        rows = fetch(db, "SELECT count(*), sum(length(input)) FROM base.spans")
    except Damaged:
        return
    assert rows[0][0] == stored


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", FILES)
def test_the_store_starts_on_a_damaged_file(
    crashed: Path, tmp_path: Path, name: str, damage: Damage
) -> None:
    survive(copied(crashed, tmp_path / "again"), name, damage, 0)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", FILES)
def test_the_store_starts_on_files_damaged_anywhere(
    crashed: Path, tmp_path: Path, name: str, damage: Damage
) -> None:
    for seed in range(1, ROUNDS + 1):
        folder = copied(crashed, tmp_path / f"{seed}")
        survive(folder, name, damage, seed)
        shutil.rmtree(folder)


def copied(files: Path, folder: Path) -> Path:
    shutil.copytree(files, folder)
    return folder


@pytest.fixture
def damaged_service(crashed: Path, tmp_path: Path) -> Path:
    """Give a folder with the files of a service whose log has a flipped bit."""
    for name in ("", ".wal", ".ledger"):
        shutil.copy(crashed / f"db{name}", tmp_path / f"tracejury.duckdb{name}")
    log = tmp_path / "tracejury.duckdb.wal"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    return tmp_path


@pytest.mark.slow
def test_a_service_on_a_damaged_log_says_what_is_missing(damaged_service: Path) -> None:
    with running_service(damaged_service, FAST) as service:
        found = service.get("/api/storage")
        metrics = service.client.get(f"{service.api}/metrics").text
        assert_accounts(service)
    assert found["records"]["spans"]["lost"] == LOGGED * BATCH
    assert [name.partition(".damaged-")[0] for name in found["set_aside"]] == [
        "tracejury.duckdb.wal"
    ]
    assert f'tracejury_records_total{{result="lost",signal="spans"}} {LOGGED * BATCH}.0' in metrics
    assert "tracejury_storage_set_aside 1.0" in metrics
