"""Promise 6: stock exporters lose nothing while the store stands still for five seconds.

Python is tried in two versions and JavaScript in one; Go and the Collector are not run.
What the installed version does in a short overload: tests/e2e/test_receive_exporters.py.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.helpers.exporters import commands, start
from tests.helpers.service import running_service
from tests.promises.accounting import assert_accounts, assert_kept

SECONDS = 12
RATE = 100
STALL_S = 5


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_exporter_loses_a_span_in_a_stall_of_five_seconds(tmp_path: Path) -> None:
    for make in commands().values():
        make()  # what has to be installed, before anything runs
    with running_service(tmp_path) as service:
        running = [start(name, service, SECONDS, RATE) for name in commands()]
        time.sleep(4)
        store = service.children()["store"]
        store.suspend()
        time.sleep(STALL_S)
        store.resume()
        found = {each.name: each.result() for each in running}
        rows = service.sql("SELECT service_name, count(*) FROM spans GROUP BY ALL")
        stored: dict[str, int] = {row[0]: row[1] for row in rows}
        assert {name: e.dropped for name, e in found.items() if e.dropped} == {}
        assert {name: e.acknowledged for name, e in found.items()} == stored
        assert {name: e.ended for name, e in found.items()} == stored
        assert_accounts(service)
    assert_kept(service.database)
