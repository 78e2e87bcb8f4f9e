"""Queries that are too much are ended, and what agents send meanwhile is kept."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.helpers.databases import fetch, open_database
from tests.helpers.senders import SPANS_PER_TRACE, Sender, sending, wait_for_acknowledgements
from tests.helpers.service import FAST, RunningService, eventually, pid_of, running_service
from tests.promises.accounting import assert_accounts
from tracejury_collector.store.watch import STUCK_S

SETTINGS = f"{FAST}sql: {{timeout: 1s}}\n"
PATIENCE_S = 30.0
AT_ONCE = 20
REFUSED = {422, 503}
QUEUED_S = 5.0
"""How long a query waits for its turn (`sql.wait`)."""
LIMIT_S = 1.0 + 3.0
STORE_BACK_S = 5.0
"""A connection of a store that has ended is taken up by the next one."""
DATA = Path(__file__).parent.parent / "data" / "sql_bombs.txt"
BOMBS = [line for line in DATA.read_text("utf-8").splitlines() if line and line[0] != "#"]
STUCK = next(bomb for bomb in BOMBS if "mode(i)" in bomb)


def ask(service: RunningService, sql: str) -> httpx.Response | None:
    """Return the answer to a query; None where the store ended before it gave one."""
    try:
        return httpx.post(f"{service.api}/api/sql", json={"sql": sql}, timeout=PATIENCE_S)
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return None


def is_stuck(service: RunningService) -> bool:
    """Ask what cannot be stopped; where time is short it ends before it has come so far."""
    answer = ask(service, STUCK)
    assert answer is None or answer.json()["code"] == "sql_refused"
    time.sleep(STUCK_S)
    return "cannot be stopped" in service.log()


def wait_for_another_store(service: RunningService, before: int | None) -> None:
    eventually(
        lambda: pid_of(service, "store") not in (None, before),
        "the store is another process",
        log=service.log,
    )
    eventually(service.is_ready, "the service is ready again", timeout_s=60, log=service.log)


def assert_nothing_was_lost(database: Path, senders: list[Sender]) -> None:
    """Look into the file that the service has left: a query to it could take too long itself."""
    with open_database(database) as db:
        stored = Counter(trace for (trace,) in fetch(db, "SELECT trace_id FROM base.spans"))
    for sender in senders:
        assert sender.refused == []
        assert [t for t in sender.acknowledged if stored[t] != SPANS_PER_TRACE] == []


def test_a_query_that_no_interrupt_stops_ends_the_store_which_comes_back(tmp_path: Path) -> None:
    with running_service(tmp_path, SETTINGS) as service, sending(service) as senders:
        before = pid_of(service, "store")
        eventually(lambda: is_stuck(service), "a query is stuck", timeout_s=60, log=service.log)
        wait_for_another_store(service, before)
        wait_for_acknowledgements(service, senders)
    assert_nothing_was_lost(service.database, senders)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_bombs_at_once_end_in_time_and_harm_no_sender(tmp_path: Path) -> None:
    def ended(bomb: str) -> float:
        started_s = time.monotonic()
        answer = ask(service, bomb)
        assert answer is None or answer.status_code in REFUSED, f"{bomb}: {answer.text}"
        return time.monotonic() - started_s

    with running_service(tmp_path, SETTINGS) as service:
        with sending(service) as senders, ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in range(3):
                took_s = list(pool.map(ended, itertools.islice(itertools.cycle(BOMBS), AT_ONCE)))
                print(f"{AT_ONCE} bombs at once: the last one ended after {max(took_s):.1f} s")  # noqa: T201
                assert max(took_s) <= QUEUED_S + LIMIT_S + STORE_BACK_S
                eventually(service.is_ready, "ready again", timeout_s=60, log=service.log)
                wait_for_acknowledgements(service, senders)
        assert_accounts(service)
    assert_nothing_was_lost(service.database, senders)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_bomb_is_ended_and_ingest_goes_on(tmp_path: Path) -> None:
    with running_service(tmp_path, SETTINGS) as service, sending(service) as senders:
        for bomb in BOMBS:
            answer = ask(service, bomb)
            assert answer is None or answer.status_code == 422, f"{bomb}: {answer.text}"
            time.sleep(STUCK_S)  # until it has stopped after all, or has ended the store
            eventually(service.is_ready, f"ready after {bomb}", timeout_s=60, log=service.log)
    assert_nothing_was_lost(service.database, senders)
