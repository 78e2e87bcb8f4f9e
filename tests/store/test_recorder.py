"""Results are written once each, and one that cannot be stored delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.worker import Bench, bench, root, trace_id
from tracejury.result import Outcome, Score
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.recorder import UNSTORABLE, Recorder

RULES = {"r": {"evaluators": ["no-loops"]}}


async def record(store: Bench, outcomes: Mapping[str, Outcome]) -> None:
    recorder = Recorder(store.db, store.clock)
    for _, job, _ in Intake(store.db, store.definitions.seat_of).read_all(100):
        recorder.record(job, "no-loops", outcomes[job.pending.trace_id], 1.0)
    recording = asyncio.create_task(recorder.run())
    await recorder.stop(recording)
    assert recording.done()


def test_an_outcome_that_cannot_be_stored_becomes_a_failure_alone(tmp_path: Path) -> None:
    odd = Score(1.0)
    object.__setattr__(odd, "value", "a number")
    with bench(tmp_path, {"rules": RULES}) as store:
        store.spans(root(1), root(2), root(3))
        store.after(4)
        found = {trace_id(1): Score(1.0), trace_id(2): odd, trace_id(3): Score(0.0)}
        asyncio.run(record(store, found))
        rows = "SELECT trace_id, outcome, score, error_type FROM base.results ORDER BY ALL"
        assert store.rows(rows) == [
            (trace_id(1), "score", 1.0, None),
            (trace_id(2), "failure", None, UNSTORABLE),
            (trace_id(3), "score", 0.0, None),
        ]
        assert store.rows("SELECT count(*) FROM base.jobs") == [(0,)]
