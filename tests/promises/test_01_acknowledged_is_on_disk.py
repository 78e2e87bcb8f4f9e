"""Promise 1: what was acknowledged outlives the death of any process at any moment."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.helpers.failpoints import Failpoint, failpoints_in
from tests.helpers.senders import SPANS_PER_TRACE, Sender, sending, wait_for_acknowledgements
from tests.helpers.service import FAST, RunningService, eventually, running_service, settle
from tests.promises.accounting import assert_accounts, assert_kept

KILLS = int(os.environ.get("TRACEJURY_KILLS", "20"))
CONFIG = f"{FAST}database: {{checkpoint_wal: 65536}}\n"  # a checkpoint after every few commits
LONGEST_COMMIT_MS = 25
INSIDE = "store.committing, later"
"""In the middle of a commit, or of the checkpoint that follows it."""

TOGETHER = (
    ("receiver.decoded", "store.committing"),
    ("receiver.handed-over", "store.committed"),
    ("receiver.acknowledging", INSIDE),
    ("receiver.decoded", "jury.evaluating"),
    ("receiver.handed-over", "store.answering"),
    ("receiver.acknowledging", INSIDE),
    ("receiver.decoded", "store.recorded"),
    ("receiver.handed-over", "assembler.assembled"),
    ("receiver.forgetting", INSIDE),
    ("receiver.decoded",),
    ("receiver.handed-over", "jury.evaluating"),
    ("receiver.acknowledging", "assembler.assembled"),
)
"""Where processes die together, again and again."""

SAME_DECISION_TWICE = (
    "SELECT rule, target_id, revision FROM decisions GROUP BY ALL HAVING count(*) > 1"
)
SAME_RESULT_TWICE = (
    "SELECT evaluator, trace_id, revision FROM scores_history GROUP BY ALL HAVING count(*) > 1"
)
UNJUDGED = (
    "SELECT count(*) FROM decisions d LEFT JOIN scores_history s "
    "ON s.trace_id = d.target_id AND s.revision = d.revision "
    "WHERE d.outcome = 'selected' AND s.trace_id IS NULL"
)


def rounds(kills: int) -> Iterator[list[Failpoint]]:
    """Yield the points of each round, until as many processes have died."""
    random = Random(kills)
    dead = 0
    for names in itertools.cycle(TOGETHER):
        if dead >= kills:
            return
        dead += len(names)
        yield [
            Failpoint(name=name.partition(",")[0], delay_ms=random.uniform(1, LONGEST_COMMIT_MS))
            if name == INSIDE
            else Failpoint(name=name)
            for name in names
        ]


@pytest.mark.timeout(120 + 10 * KILLS)
def test_nothing_acknowledged_is_lost_or_doubled_wherever_processes_die(tmp_path: Path) -> None:
    with failpoints_in(tmp_path / "failpoints") as points, running_service(tmp_path, CONFIG) as s:
        with sending(s) as senders:
            for together in rounds(KILLS):
                points.kill(s, *together)
                wait_for_acknowledgements(s, senders)
        eventually(s.is_ready, "ready again", log=s.log)
        settle(s.database, timeout_s=60)
        assert list(tmp_path.glob("*.damaged-*")) == [], "no request is blamed for these deaths"
        _check_spans(s, senders)
        _check_judged(s)
        assert_accounts(s)
    assert_kept(s.database)


def _check_spans(service: RunningService, senders: list[Sender]) -> None:
    stored = Counter(trace for (trace,) in service.sql("SELECT trace_id FROM spans"))
    for sender in senders:
        assert sender.refused == []
        assert [t for t in sender.acknowledged if stored[t] != SPANS_PER_TRACE] == []
    assert [t for t, count in stored.items() if count != SPANS_PER_TRACE] == []


def _check_judged(service: RunningService) -> None:
    """Every trace is decided on and judged, nothing twice."""
    traces = service.sql("SELECT count(DISTINCT trace_id) FROM spans")
    eventually(
        lambda: service.sql("SELECT count(DISTINCT target_id) FROM decisions") == traces,
        "every finished trace is decided",
        timeout_s=60,
        log=service.log,
    )
    eventually(
        lambda: service.sql(UNJUDGED) == [[0]],
        "every selected trace is judged",
        timeout_s=60,
        log=service.log,
    )
    assert service.sql(SAME_DECISION_TWICE) == []
    assert service.sql(SAME_RESULT_TWICE) == []
