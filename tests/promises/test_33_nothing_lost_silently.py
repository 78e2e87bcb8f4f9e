"""received = stored + duplicate + rejected + shed, over all that can become of a record."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.senders import SPANS_PER_TRACE, trace_request
from tests.helpers.service import FAST, RunningService, eventually, running_service, settle
from tests.promises.accounting import Accounts, assert_accounts, assert_kept

PROTOBUF = {"content-type": "application/x-protobuf"}
CONFIG = f"{FAST}limits: {{in_flight_bytes: 4096, wait: 50ms}}\n"
TRACES = 12
CROWD = 24
BIG = "x" * 4000


def post(service: RunningService, path: str, **request: Any) -> int:
    return service.client.post(f"{service.otlp_http}{path}", **request).status_code


def alone(service: RunningService, path: str, **request: Any) -> int:
    """Send a request when no other is held."""
    settle(service.database)
    return post(service, path, **request)


def spans(*ids: str) -> dict[str, Any]:
    """Return a request of spans with these trace ids, some of which may be none."""
    each = [{"traceId": i, "spanId": f"{n:016x}", "name": BIG} for n, i in enumerate(ids, 1)]
    return {"resourceSpans": [{"scopeSpans": [{"spans": each}]}]}


def records(*ids: str) -> dict[str, Any]:
    each = [{"traceId": i, "body": {"stringValue": "said"}} for i in ids]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": each}]}]}


def send_of_everything(service: RunningService, first: int) -> None:
    """Send what is stored, what is there already, what is rejected, and more than is taken."""
    bodies = [trace_request(number) for number in range(first, first + TRACES)]
    for body in [*bodies, *bodies]:
        assert alone(service, "/v1/traces", content=body, headers=PROTOBUF) == 200
    good, bad = f"{first:032x}", "0" * 32
    assert alone(service, "/v1/traces", json=spans(good, bad, "no id")) == 200
    assert alone(service, "/v1/logs", json=records(good, bad)) == 200
    assert alone(service, "/v1/metrics", json={"resourceMetrics": []}) == 200
    assert alone(service, "/v1/traces", content=b"no OTLP", headers=PROTOBUF) == 400
    crowd = [spans(f"{first * 1000 + n:032x}") for n in range(CROWD)]
    with ThreadPoolExecutor(CROWD) as pool:
        codes = set(pool.map(lambda body: post(service, "/v1/traces", json=body), crowd))
    assert codes <= {200, 503}


def restart(service: RunningService, by: signal.Signals) -> None:
    service.process.send_signal(by)
    service.restart()
    eventually(service.is_ready, "ready again", timeout_s=60, log=service.log)


def check(service: RunningService, before: Accounts, rounds: int) -> Accounts:
    """Assert the identity, and that no account is less than it was."""
    now = assert_accounts(service)
    spans_now, logs_now = now["spans"], now["logs"]
    assert spans_now.duplicate == rounds * TRACES * SPANS_PER_TRACE
    assert spans_now.stored >= rounds * (TRACES * SPANS_PER_TRACE + 1)
    assert spans_now.rejected == 2 * rounds
    assert (logs_now.stored, logs_now.rejected) == (rounds, rounds)
    for signal_name, account in before.items():
        assert account.received <= now[signal_name].received
    return now


def test_the_accounts_balance_over_everything_and_restarts(tmp_path: Path) -> None:
    with running_service(tmp_path, CONFIG) as service:
        seen: Accounts = {}
        for number, by in enumerate([signal.SIGTERM], 1):
            send_of_everything(service, 1000 * number)
            seen = check(service, seen, number)
            restart(service, by)
            assert assert_accounts(service) == seen, "the accounts outlive a restart"
    assert assert_kept(service.database) == seen


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_accounts_balance_over_kills(tmp_path: Path) -> None:
    with running_service(tmp_path, CONFIG) as service:
        seen: Accounts = {}
        for number, by in enumerate([signal.SIGKILL, signal.SIGTERM, signal.SIGKILL] * 3, 1):
            send_of_everything(service, 1000 * number)
            seen = check(service, seen, number)
            restart(service, by)
            assert assert_accounts(service)["spans"].stored == seen["spans"].stored
    assert_kept(service.database)
