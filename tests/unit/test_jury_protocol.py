"""Orders and outcomes survive the wire; nonsense is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tracejury_collector.ipc import BrokenFrame
from tracejury_collector.jury.progress import Progress
from tracejury_collector.jury.protocol import (
    JobOrder,
    JudgeOrder,
    RunOutcome,
    judge_frame,
    outcome_item,
    outcomes_frame,
    read_judge,
    read_outcomes,
)


@pytest.mark.parametrize("module", ["process", "tracing"])
def test_a_jury_process_knows_no_database(module: str) -> None:
    program = (
        f"import sys, tracejury_collector.jury.{module}; "
        "sys.exit([m for m in ('duckdb', 'pyarrow', 'pydantic_ai') if m in sys.modules] or 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_order_comes_back_as_it_was() -> None:
    evaluators = {
        "a": {"type": "regex", "config": {"pattern": "ü"}},
        "b": {"type": "x", "config": {}},
    }
    jobs = [
        JobOrder(run=1, evaluators=("a", "b"), trace=b'{"trace_id":"1"}'),
        JobOrder(run=3, evaluators=("b",), trace=b""),
        JobOrder(run=4, evaluators=("a",), trace=b'{"trace_id":"2"}'),
    ]
    order = JudgeOrder(id=7, evaluators=evaluators, jobs=jobs)
    found = read_judge(*judge_frame(order))
    assert (found.id, found.evaluators) == (7, evaluators)
    assert [(j.run, j.evaluators, bytes(j.trace)) for j in found.jobs] == [
        (j.run, j.evaluators, bytes(j.trace)) for j in jobs
    ]


def test_outcomes_come_back_as_they_were() -> None:
    items = [outcome_item(n, {"outcome": "skip", "reason": "ü"}, 1.5) for n in (1, 2)]
    header, payload = outcomes_frame(7, items, done=True)
    assert header == {"op": "outcomes", "id": 7, "done": True}
    assert list(read_outcomes(payload)) == [
        RunOutcome(run=n, outcome={"outcome": "skip", "reason": "ü"}, duration_ms=1.5)
        for n in (1, 2)
    ]


@pytest.mark.parametrize("payload", [b"", b"{", b"[1]", b'[{"run":"x"}]', b'[{"run":1}]', b"7"])
def test_nonsense_is_refused(payload: bytes) -> None:
    with pytest.raises(BrokenFrame):
        list(read_outcomes(payload))


def test_progress_is_seen_on_the_other_side_and_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    inside = Progress.create(path, slots=3)
    outside = Progress.attach(path)
    assert not path.exists()
    inside.mark(2**40, slot=1)
    inside.mark(7, slot=2)
    inside.close()
    assert outside.slots == 3
    assert outside.runs == [0, 2**40, 7]
    outside.close()
