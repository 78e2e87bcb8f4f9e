"""Running evaluators on traces: the inside of a jury process."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from tracejury.bounds import clip
from tracejury.codec import load_trace
from tracejury.errors import TracejuryError
from tracejury.evaluator import Evaluator, run_evaluator, start_evaluator
from tracejury.result import Failure, Outcome, Score, Skip, outcome_to_json
from tracejury.trace import Trace
from tracejury_collector import failpoints
from tracejury_collector.jury.confinement import Surroundings
from tracejury_collector.jury.progress import Progress
from tracejury_collector.jury.protocol import JobOrder, JudgeOrder, outcome_item
from tracejury_collector.jury.roster import Builder
from tracejury_evaluators.judge.tracing import told_of

MAX_OUTCOME_BYTES = 1 << 20
Send = Callable[[bytes | None], None]
"""Takes an outcome, or None: the order is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """An evaluator of an order with its default criteria; a failure if it cannot be built."""

    evaluator: Evaluator[Any] | Failure
    criteria: Mapping[str, Any]
    timeout_s: float
    name: str = ""


class Members:
    """The evaluators of one process, each built once."""

    def __init__(self, registry: Builder) -> None:
        self._registry = registry
        self._built: dict[bytes, Evaluator[Any] | Failure] = {}
        self._lock = threading.Lock()

    def of(self, spec: Mapping[str, Any]) -> _Member:
        """Return the evaluator of an order."""
        wanted = [spec["type"], spec["config"], spec["fingerprint"]]
        key = orjson.dumps(wanted, option=orjson.OPT_SORT_KEYS)
        with self._lock:
            if key not in self._built:
                self._built[key] = self._build(*wanted)
            built = self._built[key]
        return _Member(
            evaluator=built,
            criteria=spec["criteria"],
            timeout_s=spec["timeout_s"],
            name=spec.get("name", ""),
        )

    def _build(
        self, type_name: str, config: Mapping[str, Any], fingerprint: str
    ) -> Evaluator[Any] | Failure:
        try:
            built = self._registry.build(type_name, config)
            if built.fingerprint() == fingerprint:
                return built
        except BaseException as error:  # noqa: BLE001 plugins may raise anything
            name = "DefinitionError" if isinstance(error, TracejuryError) else type(error).__name__
            return Failure(error_type=name, message=clip(str(error), 1000))
        message = f"{type_name} was changed since the service was started; start it again"
        return Failure(error_type="DefinitionError", message=message)


class Bench:
    """Judges orders, one run after the other; several benches share the members of a process.

    `slot` is where this one says what it runs. With `ends_late` a run that waits is ended at its
    timeout, so that the process need not be, with all that runs beside it.
    """

    def __init__(
        self, members: Members, progress: Progress, slot: int = 0, *, ends_late: bool = False
    ) -> None:
        self._members = members
        self._progress = progress
        self._slot = slot
        self._ends_late = ends_late
        self._surroundings = Surroundings()

    def judge(self, order: JudgeOrder, send: Send, must_leave: Callable[[], bool]) -> None:
        """Run the order, handing out each outcome; stops early once it must leave."""
        for item in self._run_all(order):
            send(item)
            if must_leave():
                break
        self._progress.mark(0, self._slot)
        send(None)

    def _run_all(self, order: JudgeOrder) -> Iterator[bytes]:
        members: dict[str, _Member] = {}
        for job in order.jobs:
            self._progress.mark(job.run, self._slot)
            trace = _load(job)
            for run, identity in enumerate(job.evaluators, start=job.run):
                self._progress.mark(run, self._slot)
                if identity not in members:  # after the mark: building may import a plugin
                    members[identity] = self._members.of(order.evaluators[identity])
                yield self._run(run, members[identity], trace)
                self._surroundings.restore()

    def _run(self, run: int, member: _Member, trace: Trace | Failure) -> bytes:
        started_s = time.perf_counter()
        outcome: Outcome
        if isinstance(member.evaluator, Failure):
            outcome = member.evaluator
        elif isinstance(trace, Failure):
            outcome = trace
        else:
            failpoints.reach("jury.evaluating")
            limit_s = member.timeout_s if self._ends_late else None
            with told_of({"tracejury.evaluator": member.name}):
                outcome = _judge(member.evaluator, trace, member.criteria, limit_s)
        return _item(run, outcome, (time.perf_counter() - started_s) * 1e3)


def _load(job: JobOrder) -> Trace | Failure:
    try:
        return load_trace(bytes(job.trace))
    except ValueError as error:
        return Failure(error_type="UnreadableTrace", message=str(error)[:1000])


def _judge(
    evaluator: Evaluator[Any], trace: Trace, defaults: Mapping[str, Any], limit_s: float | None
) -> Outcome:
    try:
        if limit_s is None:
            return run_evaluator(evaluator, trace, defaults=defaults)
        started = start_evaluator(evaluator, trace, defaults=defaults)
        if isinstance(started, (Score, Skip, Failure)):
            return started
        return asyncio.run(_ended(started, limit_s))
    except BaseException as error:  # noqa: BLE001 this thread outlives whatever an author throws
        return Failure(error_type=type(error).__name__, message=str(error)[:1000])


async def _ended(started: Awaitable[Outcome], limit_s: float) -> Outcome:
    try:
        async with asyncio.timeout(limit_s):
            return await started
    except TimeoutError:
        return Failure("timeout", f"ran longer than {limit_s:g} s and was stopped")


def _item(run: int, outcome: Outcome, duration_ms: float) -> bytes:
    try:
        item = outcome_item(run, outcome_to_json(outcome), duration_ms)
    except (TypeError, ValueError, RecursionError) as error:
        failure = Failure(error_type="UnusableOutcome", message=f"not JSON: {error}"[:1000])
        return outcome_item(run, outcome_to_json(failure), duration_ms)
    if len(item) <= MAX_OUTCOME_BYTES:
        return item
    message = f"the outcome has {len(item)} bytes; {MAX_OUTCOME_BYTES} are allowed"
    failure = Failure(error_type="UnusableOutcome", message=message)
    return outcome_item(run, outcome_to_json(failure), duration_ms)
