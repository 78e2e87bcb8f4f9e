"""The file is written anew, copied and thinned out while exporters send: nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.helpers import exporters
from tests.helpers.senders import Sender, sending, wait_for_acknowledgements
from tests.helpers.service import FAST, RunningService, eventually, running_service
from tests.promises.accounting import assert_accounts
from tracejury import Client
from tracejury.rest import Compaction, Snapshot

KEPT = f"{FAST}retention: {{spans: 5s}}\n"
SECONDS = 80
"""Retention looks once a minute."""


def copies(service: RunningService, senders: list[Sender]) -> tuple[list[Compaction], Snapshot]:
    """Take a snapshot between two compactions; each while spans are acknowledged."""
    with Client(service.api) as client:

        def compacted() -> Compaction:
            wait_for_acknowledgements(service, senders)
            job = client.compact(max_pause_s=60).id
            done = "the file is written anew"
            eventually(
                lambda: client.compaction(job).state != "running",
                done,
                timeout_s=120,
                log=service.log,
            )
            return client.compaction(job)

        first = compacted()
        copy = client.snapshot("backup").id
        eventually(
            lambda: client.find_snapshot(copy).state != "running",
            "there is a copy",
            timeout_s=120,
            log=service.log,
        )
        return [first, compacted()], client.find_snapshot(copy)


def deleted(service: RunningService) -> int:
    """Return of how many traces retention has deleted the spans."""
    gone = "SELECT count(*) FROM traces WHERE spans_deleted_at IS NOT NULL"
    return int(service.sql(gone)[0][0])


@pytest.mark.slow
def test_nothing_is_lost_while_the_file_is_copied_replaced_and_thinned_out(tmp_path: Path) -> None:
    with running_service(tmp_path, KEPT) as service:
        stock = [
            exporters.start(f"python-{exporters.PYTHON_VERSIONS[-1]}-{way}", service, SECONDS, 100)
            for way in ("http", "grpc")
        ]
        with sending(service) as senders:
            compactions, snapshot = copies(service, senders)
            eventually(lambda: deleted(service), "retention has deleted", timeout_s=120)
            exported = [exporter.result() for exporter in stock]
        for compaction in compactions:
            assert (compaction.state, compaction.error) == ("done", "")
            assert (compaction.pause_s or 0) <= (compaction.estimated_pause_s or 0)
        for said in exported:
            assert (said.dropped, said.acknowledged) == (0, said.ended)
        sent = {trace for sender in senders for trace in sender.acknowledged}
        assert sent <= {row[0] for row in service.sql("SELECT trace_id FROM traces")}
        account = assert_accounts(service)["spans"]
        assert account.stored >= len(sent) + sum(said.acknowledged for said in exported)
    assert snapshot.state == "done"
    with duckdb.connect(snapshot.path, read_only=True) as copy:
        whole = "SELECT count(*) FROM base.spans", "SELECT max(seq) FROM base.spans"
        spans, last = (copy.execute(sql).fetchall()[0][0] for sql in whole)
        assert 0 < spans <= last
        assert copy.execute("SELECT count(*) > 0 FROM traces").fetchall() == [(True,)]
