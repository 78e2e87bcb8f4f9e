"""Traffic at its worst, replayed with a clock of its own: what is judged is whole, and judged once.

`TRACEJURY_REPLAY=TRACES:SEEDS` replays more than the ordinary suite does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.helpers.replay import Chances, Plan, make_plan
from tests.helpers.worker import Bench, bench
from tracejury.result import Outcome, Score
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.jobs import Job
from tracejury_collector.jury.recorder import Recorder
from tracejury_collector.worker import BATCH_TRACES

TRACES, SEEDS = (int(n) for n in os.environ.get("TRACEJURY_REPLAY", "500:1").split(":"))
STEP_S = 15
BUSY_S = 1200
RESTARTS = 4
EVALUATORS = ["non-empty-output", "no-loops"]
SETTINGS = {
    "completion": {"session_idle": "5m"},
    "rules": {
        "every": {"evaluators": EVALUATORS},
        "some": {"evaluators": ["no-loops"], "sample": {"rate": 0.3}},
        "rooted": {"evaluators": ["no-loops"], "where": "has_root"},
        "whole": {"evaluators": EVALUATORS, "target": "session"},
    },
}
TRACE_RULES, SESSION_RULES = 3, 1
# What a target is now: its current revision.
CURRENT = """
    SELECT 'trace' AS target_kind, trace_id AS target_id, revision FROM base.traces
    WHERE NOT superseded
    UNION ALL
    SELECT 'session', target_id, revision FROM base.session_revisions WHERE NOT superseded
"""
STALE_RESULTS = f"""
    SELECT r.target_id, r.revision FROM base.results AS r
    ANTI JOIN ({CURRENT}) AS c USING (target_kind, target_id, revision)
    WHERE NOT r.superseded
"""
PARTIAL_RESULTS = """
    SELECT r.target_id, r.revision, s.span_id
    FROM base.results AS r
    JOIN base.traces AS t ON t.trace_id = r.target_id AND t.revision = r.revision
    JOIN base.spans AS s ON s.trace_id = t.trace_id AND s.seq NOT BETWEEN t.first_seq AND t.last_seq
    ANTI JOIN base.arrivals AS a ON a.trace_id = t.trace_id
    WHERE NOT r.superseded
"""
TWO_CURRENT = f"SELECT target_id FROM ({CURRENT}) GROUP BY ALL HAVING count(*) > 1"
TWO_DECISIONS = """
    SELECT rule_fingerprint, run_id, target_kind, target_id, revision FROM base.decisions
    GROUP BY ALL HAVING count(*) > 1
"""
TWO_RESULTS = """
    SELECT decision_id, evaluator FROM base.results GROUP BY ALL HAVING count(*) > 1
"""
EARLY = """
    SELECT t.trace_id, t.revision FROM base.traces AS t JOIN base.spans AS s ON s.seq = t.last_seq
    WHERE t.completed_by IN ('root_ended', 'idle')
    AND epoch_ns(t.completed_at) - epoch_ns(s.received_at) < 3_000_000_000
"""
NEVER = {
    "a current result is on a superseded revision": STALE_RESULTS,
    "a current result was found on a part of what arrived": PARTIAL_RESULTS,
    "a target has two current revisions": TWO_CURRENT,
    "a rule decided twice on a revision": TWO_DECISIONS,
    "an evaluator has two results for a decision": TWO_RESULTS,
    "a trace was finished before it was quiet": EARLY,
}
UNJUDGED = f"""
    SELECT d.decision_id, d.evaluator
    FROM (
        SELECT decision_id, target_kind, target_id, revision, unnest(evaluators) AS evaluator
        FROM base.decisions
    ) AS d
    SEMI JOIN ({CURRENT}) AS c USING (target_kind, target_id, revision)
    ANTI JOIN (FROM base.results WHERE NOT superseded) AS r
        ON r.decision_id = d.decision_id AND r.evaluator = d.evaluator
"""


class Replay:
    """A worker under the plan's traffic, with a jury that is slow, and restarts in between."""

    def __init__(self, store: Bench, plan: Plan, seed: int) -> None:
        self._store = store
        self._plan = plan
        self._random = Random(-seed)
        self._owed: list[Job] = []

    def run(self) -> None:
        """Let everything arrive, and time pass until all is finished and judged."""
        steps = list(_steps(max(self._plan.arrivals)))
        restarts = set(self._random.sample(steps, RESTARTS))
        for at_s, until_s in steps:
            self._arrive(at_s, until_s)
            self._tick(until_s - at_s)
            if at_s % 180 == 0:
                self._judge()
            if at_s % 900 == 0:
                self.check()
            if (at_s, until_s) in restarts:
                self._store.restart()
        self._come_to_rest()

    def check(self) -> None:
        """What never may be, at no moment."""
        for wrong, sql in NEVER.items():
            assert self._store.rows(sql) == [], wrong

    def _arrive(self, at_s: int, until_s: int) -> None:
        seconds = range(at_s, until_s)
        rows = [row for s in seconds for row in self._plan.arrivals.pop(s, [])]
        self._random.shuffle(rows)
        if rows:
            self._store.spans(*rows)

    def _tick(self, seconds: float) -> None:
        self._store.clock.advance(seconds)
        while self._store.worker.tick() == BATCH_TRACES:
            pass

    def _judge(self) -> None:
        """Record what was owed a minute ago, however much has changed since; see what is owed."""
        asyncio.run(self._record(Score(1.0)))
        intake = Intake(self._store.db, self._store.definitions.seat_of)
        self._owed = [job for _, job, _ in intake.read_all(100_000)]

    async def _record(self, outcome: Outcome) -> None:
        recorder = Recorder(self._store.db, self._store.clock)
        recording = asyncio.create_task(recorder.run())
        for job in self._owed:
            for name in list(job.pairs):
                recorder.record(job, name, outcome, 1.0)
        await recorder.stop(recording)

    def _come_to_rest(self) -> None:
        for _ in range(6):
            for _ in range(4):
                self._tick(15 * 60)
            self._judge()
        self._judge()


def _steps(last_s: int) -> Iterator[tuple[int, int]]:
    """Yield times from and until, short ones while most arrives."""
    at_s = 0
    while at_s <= last_s:
        until_s = at_s + (STEP_S if at_s < BUSY_S else 6 * STEP_S)
        yield at_s, until_s
        at_s = until_s


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_whatever_order_spans_come_in_every_revision_is_decided_and_the_last_is_whole(
    tmp_path: Path, seed: int
) -> None:
    plan = make_plan(seed, TRACES, Chances())
    with bench(tmp_path, SETTINGS) as store:
        replay = Replay(store, plan, seed)
        replay.run()
        replay.check()
        _assert_at_rest(store)
        _assert_whole(store, plan)
        _assert_decided(store)
        _assert_sessions_whole(store, plan)


def _assert_at_rest(store: Bench) -> None:
    for table in ("arrivals", "open_sessions", "jobs"):
        assert store.rows(f"FROM base.{table}") == [], table
    assert store.rows(UNJUDGED) == []
    counts: dict[str, int] = {}
    for (name, _), value in store.db.counters().items():
        counts[name] = counts.get(name, 0) + value
    assert counts["received"] == counts["stored"] + counts["duplicate"]
    assert counts["stored"] == store.rows("SELECT count(*) FROM base.spans")[0][0]


def _assert_whole(store: Bench, plan: Plan) -> None:
    """The current revision of each trace holds every span that was ever sent of it, once."""
    columns = "trace_id, span_count, tool_calls, has_root, coalesce(session_id, '')"
    found = {row[0]: row[1:] for row in _current(store, columns)}
    assert found == {
        trace_id: (len(e.spans), e.tools, e.has_root, e.session_id)
        for trace_id, e in plan.expected.items()
    }
    late = store.rows("SELECT count(*) FROM base.traces WHERE revision > 1")
    assert late[0][0] > TRACES // 10, "the plan has too few late spans to show anything"


def _current(store: Bench, columns: str) -> list[tuple[Any, ...]]:
    return store.rows(f"SELECT {columns} FROM base.traces WHERE NOT superseded")


def _assert_decided(store: Bench) -> None:
    """Each rule decided once on each revision; past the bound only that it is past it."""
    made = store.rows(
        f"SELECT (SELECT count(*) FROM base.traces) * {TRACE_RULES} "
        f"+ (SELECT count(*) FROM base.session_revisions) * {SESSION_RULES}"
    )
    assert store.rows("SELECT count(*) FROM base.decisions") == made
    allowed = {"selected", "sampled_out", "filtered", "revision_limit"}
    assert {row[0] for row in store.rows("SELECT DISTINCT outcome FROM base.decisions")} <= allowed
    flips = (
        "SELECT target_id FROM base.decisions WHERE rule = 'some' AND outcome <> 'revision_limit' "
        "GROUP BY target_id HAVING count(DISTINCT outcome) > 1"
    )
    assert store.rows(flips) == []


def _assert_sessions_whole(store: Bench, plan: Plan) -> None:
    """The current revision of each session holds the current revision of each of its traces."""
    members = store.rows(
        "SELECT session_id, m.trace_id, m.revision FROM base.session_revisions, "
        "unnest(members) AS u(m) WHERE NOT superseded"
    )
    revisions = dict(_current(store, "trace_id, revision"))
    wanted = [(s, t, revisions[t]) for s, traces in plan.sessions.items() for t in traces]
    assert sorted(members) == sorted(wanted)
