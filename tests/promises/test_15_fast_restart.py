"""Stopped or killed under load, the service acknowledges again within five seconds."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.helpers.senders import Sender, sending, wait_for_acknowledgements
from tests.helpers.service import FAST, RunningService, eventually, running_service
from tests.promises.accounting import assert_accounts, assert_kept

LIMIT_S = 5.0
ROUNDS = int(os.environ.get("TRACEJURY_RESTARTS", "10"))
ENDINGS = [signal.SIGTERM, signal.SIGKILL]


def restart(service: RunningService, by: signal.Signals, senders: list[Sender]) -> float:
    """End the service and start it again; return how long nothing was acknowledged, in seconds."""
    service.process.send_signal(by)
    service.process.wait(20)
    started_s = time.monotonic()
    service.restart()
    wait_for_acknowledgements(service, senders)
    return time.monotonic() - started_s


@pytest.mark.slow
@pytest.mark.timeout(120 + 60 * ROUNDS)
@pytest.mark.parametrize("by", ENDINGS, ids=lambda each: each.name)
def test_it_acknowledges_again_soon(tmp_path: Path, by: signal.Signals) -> None:
    with running_service(tmp_path, FAST) as service:
        with sending(service) as senders:
            wait_for_acknowledgements(service, senders)
            took_s = sorted(restart(service, by, senders) for _ in range(ROUNDS))
        eventually(service.is_ready, "ready again", log=service.log)
        print(f"{by.name}: median {took_s[ROUNDS // 2]:.2f} s, longest {took_s[-1]:.2f} s")  # noqa: T201
        stored = {trace for (trace,) in service.sql("SELECT DISTINCT trace_id FROM spans")}
        assert [s.refused for s in senders] == [[], []]
        assert {trace for s in senders for trace in s.acknowledged} <= stored
        assert_accounts(service)
    assert_kept(service.database)
    assert took_s[-1] <= LIMIT_S
