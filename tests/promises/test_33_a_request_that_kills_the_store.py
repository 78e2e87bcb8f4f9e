"""A request that the store dies of is set aside and counted; all others are stored, once."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.helpers.failpoints import failpoints_in
from tests.helpers.senders import SPANS_PER_TRACE, over_http, trace_request
from tests.helpers.service import RunningService, eventually, kill, running_service
from tests.promises.accounting import assert_accounts, assert_kept, exposed
from tracejury_collector.entries import unpack
from tracejury_collector.receive import blame

POISON = 13
OTHERS = [n for n in range(1, 102) if n != POISON]
REASON = "the store dies of it"
DEATHS = blame.BATCH_DEATHS + 2 + blame.STRIKES
"""In one batch, in its parts and in theirs, and alone."""


@contextlib.contextmanager
def poisoned(folder: Path, poison: int) -> Iterator[RunningService]:
    """Run a service whose store dies of a trace."""
    with failpoints_in(folder / "failpoints") as points, running_service(folder) as service:
        (points.folder / "store.storing").write_text(f"{poison:032x}")
        yield service


def send(service: RunningService, *numbers: int) -> None:
    """Send a trace of each number, which is acknowledged."""
    with httpx.Client(timeout=20) as client:
        attempt = over_http(client, service.otlp_http)
        assert [attempt(trace_request(n)) for n in numbers] == [True] * len(numbers)


def until_settled(service: RunningService) -> None:
    """Wait until nothing is in the journal."""
    journal = Path(f"{service.database}.journal")
    eventually(
        lambda: not any(file.stat().st_size for file in journal.iterdir()),
        "all that was acknowledged is stored or set aside",
        timeout_s=120,
        log=service.log,
    )


def set_aside(service: RunningService) -> list[Path]:
    """Return the requests that were set aside."""
    return list(service.database.parent.glob("*.journal.damaged-*"))


def deaths(service: RunningService) -> int:
    """Return how often the store was restarted."""
    return service.log().count("store ended with -9; restarting it")


def assert_set_aside(service: RunningService, poison: int) -> None:
    """The poison alone is set aside, counted, shown; everything else is stored once."""
    eventually(service.is_ready, "ready again", log=service.log)
    spans = service.sql("SELECT trace_id FROM spans")
    stored = Counter(int(trace, 16) for (trace,) in spans)
    assert stored == dict.fromkeys(OTHERS, SPANS_PER_TRACE)
    (aside,) = set_aside(service)
    ((entry, _, _),) = unpack(memoryview(aside.read_bytes()))
    assert entry.header["rows"] == SPANS_PER_TRACE
    assert f"{poison:032x}".encode() in bytes(entry.payload)
    told = service.get("/api/storage")
    assert told["set_aside"] == [aside.name]
    assert told["rejected"] == [{"signal": "spans", "reason": REASON, "count": SPANS_PER_TRACE}]
    account = assert_accounts(service)["spans"]
    assert (account.stored, account.rejected) == (SPANS_PER_TRACE * 100, SPANS_PER_TRACE)
    assert aside.name in service.log()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_request_is_set_aside_and_everything_else_stored(tmp_path: Path) -> None:
    with poisoned(tmp_path, POISON) as service:
        send(service, *OTHERS[:50])
        store = service.children()["store"]
        store.suspend()
        send(service, *OTHERS[50:75], POISON, *OTHERS[75:])
        store.resume()
        until_settled(service)
        assert_set_aside(service, POISON)
        assert deaths(service) <= DEATHS
        before = deaths(service)
        send(service, 1000)
        eventually(lambda: exposed(service)["spans"].received == 408, "it is stored, too")
        assert deaths(service) == before, "it has stopped dying"
    assert_kept(service.database)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_receiver_that_dies_each_time_as_well_does_not_begin_again(tmp_path: Path) -> None:
    with poisoned(tmp_path, POISON) as service:
        send(service, *OTHERS[:99])
        store = service.children()["store"]
        store.suspend()
        send(service, POISON, OTHERS[99])
        store.resume()
        most = DEATHS - blame.BATCH_DEATHS + blame.TAKEOVERS
        for number in range(1, most):
            eventually(
                lambda: set_aside(service) or deaths(service) >= number,  # noqa: B023
                "the store dies, or no longer needs to",
                timeout_s=60,
                log=service.log,
            )
            if not set_aside(service):
                kill(service, "receiver-1")
        until_settled(service)
        assert deaths(service) <= most
        assert_set_aside(service, POISON)
    assert_kept(service.database)
