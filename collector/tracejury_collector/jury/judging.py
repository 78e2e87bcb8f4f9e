"""Running evaluators on traces, one after the other: the inside of a jury process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from tracejury.bounds import clip
from tracejury.codec import load_trace
from tracejury.errors import TracejuryError
from tracejury.evaluator import Evaluator, run_evaluator
from tracejury.result import Failure, Outcome, outcome_to_json
from tracejury.trace import Trace
from tracejury_collector.jury.confinement import Surroundings
from tracejury_collector.jury.progress import Progress
from tracejury_collector.jury.protocol import JobOrder, JudgeOrder, outcome_item
from tracejury_collector.jury.roster import Builder

MAX_OUTCOME_BYTES = 1 << 20
FLUSH_S = 0.05
"""Outcomes are handed back at least this often, so that a crash loses few."""

Send = Callable[[list[bytes], bool], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """An evaluator of an order with its default criteria; a failure if it cannot be built."""

    evaluator: Evaluator[Any] | Failure
    criteria: Mapping[str, Any]


class Bench:
    """Judges orders; keeps the evaluators it has built."""

    def __init__(self, registry: Builder, progress: Progress) -> None:
        self._registry = registry
        self._progress = progress
        self._surroundings = Surroundings()
        self._built: dict[bytes, Evaluator[Any] | Failure] = {}

    def judge(self, order: JudgeOrder, send: Send, must_leave: Callable[[], bool]) -> None:
        """Run the order; `send` takes outcomes, and whether the order is done with them.

        Stops early, with what it has, once it must leave.
        """
        items: list[bytes] = []
        flushed_s = time.monotonic()
        for item in self._run_all(order):
            items.append(item)
            if must_leave():
                break
            if time.monotonic() - flushed_s > FLUSH_S:
                send(items, False)
                items, flushed_s = [], time.monotonic()
        self._progress.mark(0)
        send(items, True)

    def _run_all(self, order: JudgeOrder) -> Iterator[bytes]:
        members: dict[str, _Member] = {}
        for job in order.jobs:
            self._progress.mark(job.run)
            trace = _load(job)
            for run, identity in enumerate(job.evaluators, start=job.run):
                self._progress.mark(run)
                if identity not in members:  # after the mark: building may import a plugin
                    members[identity] = self._member(order.evaluators[identity])
                yield _run(run, members[identity], trace)
                self._surroundings.restore()

    def _member(self, spec: Mapping[str, Any]) -> _Member:
        wanted = [spec["type"], spec["config"], spec["fingerprint"]]
        key = orjson.dumps(wanted, option=orjson.OPT_SORT_KEYS)
        if key not in self._built:
            self._built[key] = self._build(*wanted)
        return _Member(evaluator=self._built[key], criteria=spec["criteria"])

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


def _load(job: JobOrder) -> Trace | Failure:
    try:
        return load_trace(bytes(job.trace))
    except ValueError as error:
        return Failure(error_type="UnreadableTrace", message=str(error)[:1000])


def _run(run: int, member: _Member, trace: Trace | Failure) -> bytes:
    started_s = time.perf_counter()
    outcome: Outcome
    if isinstance(member.evaluator, Failure):
        outcome = member.evaluator
    elif isinstance(trace, Failure):
        outcome = trace
    else:
        outcome = _judge(member.evaluator, trace, member.criteria)
    return _item(run, outcome, (time.perf_counter() - started_s) * 1e3)


def _judge(evaluator: Evaluator[Any], trace: Trace, defaults: Mapping[str, Any]) -> Outcome:
    try:
        return run_evaluator(evaluator, trace, defaults=defaults)
    except BaseException as error:  # noqa: BLE001 this thread outlives whatever an author throws
        return Failure(error_type=type(error).__name__, message=str(error)[:1000])


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
