"""The frames between the store and a jury process.

    jury -> store   {"op": "hello", "role": "jury", "lane": "quick" | "waiting", "pid": N,
                     "progress": PATH}
    store -> jury   {"op": "judge", "id": N, "evaluators": LENGTH,
                     "jobs": [{"run": N, "evaluators": [IDENTITY, ...], "length": LENGTH}, ...]}
                    payload: the evaluators as JSON {IDENTITY: {"type", "config", "criteria",
                    "fingerprint"}}, then the traces
    jury -> store   {"op": "outcomes", "id": N, "done": BOOL}
                    payload: JSON [{"run": N, "outcome": {...}, "duration_ms": X}, ...]
    jury -> store   {"op": "leaving"}
                    it was told to stop: what it leaves unanswered is no fault of an evaluator

A run is one evaluator on one trace: a job's first evaluator has the number `run`, its second
`run` + 1, and so on. Numbers are never used twice on a connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from tracejury_collector.ipc import BrokenFrame

Header = dict[str, Any]
JurorLane = Literal["quick", "waiting"]
"""What a jury process is for: evaluators that compute, or those that wait for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOrder:
    """One trace to judge by these evaluators; `run` is the number of the first run."""

    run: int
    evaluators: tuple[str, ...]
    trace: bytes | memoryview


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOrder:
    """A batch of work for a jury process.

    `evaluators` maps identities to type, config, default criteria and the fingerprint to expect.
    """

    id: int
    evaluators: Mapping[str, Mapping[str, Any]]
    jobs: Sequence[JobOrder]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What came of a run; `outcome` is as `outcome_to_json` gave it."""

    run: int
    outcome: Mapping[str, Any]
    duration_ms: float


def hello(pid: int, lane: JurorLane, progress: Path) -> Header:
    """Return the header that introduces a jury process; `progress` says what it is running."""
    return {"op": "hello", "role": "jury", "lane": lane, "pid": pid, "progress": str(progress)}


def leaving() -> Header:
    """Return the header that says that the process was told to stop."""
    return {"op": "leaving"}


def judge_frame(order: JudgeOrder) -> tuple[Header, bytes]:
    """Return the frame of an order."""
    evaluators = orjson.dumps(order.evaluators)
    jobs = [
        {"run": job.run, "evaluators": job.evaluators, "length": len(job.trace)}
        for job in order.jobs
    ]
    header = {"op": "judge", "id": order.id, "evaluators": len(evaluators), "jobs": jobs}
    return header, b"".join([evaluators, *(job.trace for job in order.jobs)])


def read_judge(header: Header, payload: bytes) -> JudgeOrder:
    """Return the order in a frame."""
    view = memoryview(payload)
    offset = header["evaluators"]
    evaluators = orjson.loads(view[:offset])
    jobs = []
    for job in header["jobs"]:
        trace = view[offset : offset + job["length"]]
        jobs.append(JobOrder(run=job["run"], evaluators=tuple(job["evaluators"]), trace=trace))
        offset += job["length"]
    return JudgeOrder(id=header["id"], evaluators=evaluators, jobs=jobs)


def outcomes_frame(order_id: int, items: Sequence[bytes], *, done: bool) -> tuple[Header, bytes]:
    """Return the frame of outcomes, each as `outcome_item` gave it; `done` ends the order."""
    header = {"op": "outcomes", "id": order_id, "done": done}
    return header, b"[" + b",".join(items) + b"]"


def outcome_item(run: int, outcome: Mapping[str, Any], duration_ms: float) -> bytes:
    """Return one outcome as JSON.

    Raises: TypeError if the outcome holds what JSON cannot.
    """
    return orjson.dumps(
        {"run": run, "outcome": outcome, "duration_ms": duration_ms},
        option=orjson.OPT_NON_STR_KEYS,
    )


def read_outcomes(payload: bytes) -> Iterator[RunOutcome]:
    """Return the outcomes in a frame.

    Raises: BrokenFrame on nonsense.
    """
    try:
        for item in orjson.loads(payload):
            yield RunOutcome(
                run=int(item["run"]),
                outcome=dict(item["outcome"]),
                duration_ms=float(item["duration_ms"]),
            )
    except (ValueError, TypeError, KeyError) as error:
        raise BrokenFrame(f"not outcomes: {error!r}") from error
