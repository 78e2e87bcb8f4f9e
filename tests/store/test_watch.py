"""What takes too much is interrupted; what goes on all the same ends the process."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import duckdb
import pytest

from tests.helpers.service import eventually
from tracejury_collector.store import watch
from tracejury_collector.store.watch import end_process_when_stuck, resident_bytes, watched

ENDLESS = "SELECT count(*) FROM range(10000000) a, range(1000000) b"


@pytest.fixture
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set where the store process would have been ended."""
    event = threading.Event()
    monkeypatch.setattr(watch, "STUCK_S", 0.2)
    monkeypatch.setattr(watch, "_end", watch._end)
    end_process_when_stuck(event.set)
    return event


def test_what_stops_at_its_interrupt_ends_nothing(
    cursor: duckdb.DuckDBPyConnection, ended: threading.Event
) -> None:
    with pytest.raises(duckdb.InterruptException), watched(cursor, 0.05) as query:
        cursor.execute(ENDLESS)
    assert "longer than 0.05 s" in query.fault
    assert not ended.is_set()


def test_what_ends_in_time_is_not_interrupted(
    cursor: duckdb.DuckDBPyConnection, ended: threading.Event
) -> None:
    with watched(cursor, 30) as query:
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    assert (query.fault, ended.is_set()) == ("", False)


def test_what_goes_on_after_its_interrupt_ends_the_process(
    cursor: duckdb.DuckDBPyConnection, ended: threading.Event
) -> None:
    with watched(cursor, 0.05) as query:
        assert ended.wait(30)
    assert query.fault


def test_what_grows_too_much_is_interrupted_and_beyond_that_ends_the_process(
    cursor: duckdb.DuckDBPyConnection, ended: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "STUCK_S", 60.0)
    assert resident_bytes() > 1 << 20
    with watched(cursor, 60, memory_bytes=64 << 20) as query:
        held = [b"\x01" * (80 << 20)]
        eventually(lambda: query.fault, "it is interrupted")
        assert "64 MiB of memory" in query.fault
        assert not ended.is_set()
        held.append(b"\x01" * (80 << 20))
        assert ended.wait(30)
    assert len(held) == 2
