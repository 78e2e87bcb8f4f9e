"""Running one evaluator on one trace; whatever happens inside comes back as an outcome."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from types import TracebackType
from typing import Any, cast

from pydantic import ValidationError

from tracejury.bounds import MAX_REASON_CHARS, bounded, clip
from tracejury.evaluator.base import Criteria, Evaluator
from tracejury.evaluator.criteria import Given, criteria_of
from tracejury.evaluator.returned import to_outcome
from tracejury.evaluator.validation import describe, field_names
from tracejury.result import Failure, Outcome, Score, Skip
from tracejury.trace import Trace

MAX_FRAMES = 30
_NEVER_AWAITED = (Score, Skip, bool, float, dict)
_OUTCOMES = (Score, Skip, Failure)


def run_evaluator(
    ev: Evaluator[Any], trace: Trace, criteria: Given = None, *, defaults: Given = None
) -> Outcome:
    """The outcome of one evaluator on one trace; a `Failure` for whatever the evaluator raises.

    `criteria` are those of the case; `defaults` those of the named evaluator, which hold for the
    fields that the case leaves out. Async evaluators are run to their end, each in an event loop
    of its own, so that one leaves nothing running behind; where this thread already runs a loop,
    in another thread.
    """
    started = start_evaluator(ev, trace, criteria, defaults=defaults)
    if type(started) in _OUTCOMES:
        return cast("Outcome", started)
    try:
        return cast("Outcome", _awaited(cast("Awaitable[Outcome]", started)))
    except BaseException as error:  # noqa: BLE001 - evaluators may raise anything, SystemExit too
        return _failure(error)


def start_evaluator(
    ev: Evaluator[Any], trace: Trace, criteria: Given = None, *, defaults: Given = None
) -> Outcome | Awaitable[Outcome]:
    """The outcome of one evaluator, or where it is async, what gives it when awaited.

    Whatever the evaluator raises becomes a `Failure`, then as well. It serves to run several
    evaluators together; `run_evaluator` runs one.
    """
    try:
        in_force = _criteria(type(ev), criteria, defaults)
        if isinstance(in_force, Failure):
            return in_force
        returned = ev.evaluate(trace, in_force)
        if type(returned) not in _NEVER_AWAITED and inspect.isawaitable(returned):
            return _ended(returned, _threshold(ev))
        return to_outcome(returned, _threshold(ev))
    except BaseException as error:  # noqa: BLE001 - evaluators may raise anything, SystemExit too
        return _failure(error)


async def _ended(awaitable: Awaitable[Any], threshold: float) -> Outcome:
    try:
        return to_outcome(await awaitable, threshold)
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _failure(error)


def _criteria(
    evaluator_type: type[Evaluator[Any]], given: Given, defaults: Given
) -> Criteria | Failure:
    """The criteria in force; a failure that names the field where they are wrong."""
    criteria_type: type[Criteria] = evaluator_type.criteria_type()
    try:
        return criteria_of(criteria_type, given, defaults)
    except ValidationError as error:
        message = describe(error, "criteria", field_names(criteria_type))
    except ValueError as error:
        message = f"criteria: {error}"
    return Failure("CriteriaError", clip(message, MAX_REASON_CHARS))


def _threshold(ev: Evaluator[Any]) -> float:
    if not _has_threshold(type(ev)):
        return 1.0
    threshold = getattr(ev, "threshold", 1.0)
    return float(threshold) if isinstance(threshold, (int, float)) else 1.0


@lru_cache(maxsize=1024)
def _has_threshold(evaluator_type: type[Evaluator[Any]]) -> bool:
    # asking an instance for an attribute that its model lacks is slow
    return "threshold" in evaluator_type.model_fields or hasattr(evaluator_type, "threshold")


def _awaited(awaitable: Awaitable[Any]) -> Any:
    async def wait() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, wait()).result()


def _failure(error: BaseException) -> Failure:
    try:
        message, trail = str(error) or repr(error), _traceback(error)
    except BaseException:  # noqa: BLE001 - the error's own text may raise anything as well
        message, trail = "the error's text could not be read", ""
    failure = bounded(Failure(type(error).__name__, message, trail))
    assert isinstance(failure, Failure)
    return failure


def _traceback(error: BaseException) -> str:
    """The traceback from the evaluator's own frames on, the innermost `MAX_FRAMES`."""
    own: TracebackType | None = error.__traceback__
    if own is not None and own.tb_next is not None:
        own = own.tb_next
    return "".join(traceback.format_exception(type(error), error, own, limit=-MAX_FRAMES))
