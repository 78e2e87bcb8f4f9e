"""Running one evaluator on one trace; whatever happens inside comes back as an outcome."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from pydantic import BaseModel, ValidationError

from tracejury.bounds import MAX_REASON_CHARS, bounded, clip
from tracejury.evaluator.base import Criteria, Evaluator
from tracejury.evaluator.returned import to_outcome
from tracejury.evaluator.validation import describe, field_names
from tracejury.result import Failure, Outcome
from tracejury.trace import Trace

MAX_FRAMES = 30


def run_evaluator(
    ev: Evaluator[Any], trace: Trace, criteria: Mapping[str, Any] | Criteria | None = None
) -> Outcome:
    """The outcome of one evaluator on one trace; a `Failure` for whatever the evaluator raises.

    Async evaluators are run to their end, each in an event loop of its own, so that one leaves
    nothing running behind; where this thread already runs a loop, in another thread.
    """
    try:
        parsed = _criteria(type(ev), criteria)
        if isinstance(parsed, Failure):
            return parsed
        returned = ev.evaluate(trace, parsed)
        if inspect.isawaitable(returned):
            returned = _awaited(returned)
        return to_outcome(returned, _threshold(ev))
    except BaseException as error:  # noqa: BLE001 - evaluators may raise anything, SystemExit too
        return _failure(error)


def _criteria(
    evaluator_type: type[Evaluator[Any]], given: Mapping[str, Any] | Criteria | None
) -> Criteria | Failure:
    """The case's criteria, validated; a failure that names the field where they are wrong."""
    criteria_type: type[Criteria] = evaluator_type.criteria_type()
    if isinstance(given, criteria_type):
        return given
    fields = given.model_dump(exclude_unset=True) if isinstance(given, BaseModel) else given
    try:
        return criteria_type.model_validate({} if fields is None else fields)
    except ValidationError as error:
        message = describe(error, "criteria", field_names(criteria_type))
        return Failure("CriteriaError", clip(message, MAX_REASON_CHARS))


def _threshold(ev: Evaluator[Any]) -> float:
    threshold = getattr(ev, "threshold", 1.0)
    return float(threshold) if isinstance(threshold, (int, float)) else 1.0


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
