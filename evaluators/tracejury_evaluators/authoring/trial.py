"""`tracejury evaluate`: evaluators tried on traces, each judgement in a process apart."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tracejury.client import Client
from tracejury.codec import dump_trace
from tracejury.errors import DefinitionError, TracejuryError
from tracejury.result import Failure, Outcome, Score, outcome_from_json
from tracejury.trace import Trace
from tracejury.trace_files import read_traces
from tracejury.view_back import trace_from_api
from tracejury_evaluators.authoring.apart import STARTUP_S, Apart, Lost, apart
from tracejury_evaluators.authoring.orders import Ready, Setup, Try, Wanted

DEFAULT_TIMEOUT_S = 60.0
MAX_LOST = 3
ABANDONED = Failure("Abandoned", f"it was lost {MAX_LOST} times and is not tried again")
MAX_ARGUMENT_BYTES = 16 << 20
_TRACE_ID = re.compile("[0-9a-fA-F]{32}")
_FILE = re.compile(r"(?P<path>[^:]*\.py)(?P<name>:\w+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One outcome: of which evaluator on which trace; `duration_ms` is None where it was lost."""

    trace: Trace
    ready: Ready
    outcome: Outcome
    duration_ms: float | None


def find_traces(given: Sequence[str], url: str | None) -> list[Trace]:
    """The traces that are named: by files, or by ids for which the service is asked.

    Raises: TracejuryError where a name is neither, or the service does not answer.
    """
    files = [Path(name) for name in given if Path(name).exists()]
    ids = [name for name in given if not Path(name).exists()]
    for name in ids:
        if not _TRACE_ID.fullmatch(name):
            raise DefinitionError(
                f"--trace {name!r} is neither a file nor a trace id; "
                "name a file, or 32 hex digits as `tracejury traces` lists them"
            )
    found = read_traces(files) if files else []
    if not ids:
        return found
    with Client(url) as client:
        fetched = [client.trace(name).model_dump(mode="json") for name in ids]
    return found + [trace_from_api(document) for document in fetched]


def wanted_of(
    evaluators: Sequence[str], configs: Sequence[str], criteria: Sequence[str]
) -> list[Wanted]:
    """The evaluators with their config and criteria: one for all, or one for each in turn.

    Raises: DefinitionError where the numbers do not go together, or a text is no JSON object.
    """
    return [
        Wanted(evaluator=_located(name), label=name, config=config, criteria=case)
        for name, config, case in zip(
            evaluators,
            _each(configs, "--config", len(evaluators)),
            _each(criteria, "--criteria", len(evaluators)),
            strict=True,
        )
    ]


def _located(name: str) -> str:
    """The evaluator, with a file's path from the root, for plugins may start elsewhere."""
    match = _FILE.fullmatch(name.removeprefix("file://"))
    return f"{Path(match['path']).absolute()}{match['name'] or ''}" if match else name


def _each(given: Sequence[str], option: str, count: int) -> list[dict[str, Any] | None]:
    if not given:
        return [None] * count
    if len(given) not in (1, count):
        raise DefinitionError(
            f"{option} is given {len(given)} times for {count} evaluators; "
            "give it once for all, or once for each in their order"
        )
    parsed = [json_object(text, option) for text in given]
    return [*parsed] if len(parsed) == count else [parsed[0]] * count


def json_object(text: str, option: str) -> dict[str, Any]:
    """The JSON object in an option, or in the file that `@FILE` names.

    Raises: DefinitionError where it is none; OSError where the file cannot be read.
    """
    source = text
    if text.startswith("@"):
        path = Path(text[1:])
        if path.stat().st_size > MAX_ARGUMENT_BYTES:
            raise DefinitionError(f"{option}: {path} has over {MAX_ARGUMENT_BYTES} bytes")
        source, option = path.read_text(encoding="utf-8"), f"{option} {text}"
    try:
        data = orjson.loads(source)
    except orjson.JSONDecodeError as error:
        raise DefinitionError(
            f"{option}: {source[:80]!r} is no JSON: {error}; "
            """write it like '{"expected": ["search"]}', or @FILE"""
        ) from error
    if not isinstance(data, dict):
        raise DefinitionError(f"{option}: {source[:80]!r} is no JSON object; write it like '{{}}'")
    return data


def try_all(
    setup: Setup, wanted: Sequence[Wanted], traces: Sequence[Trace], timeout_s: float | None
) -> Iterator[Tried]:
    """Yield the outcomes, trace by trace; where a process is lost, a new one goes on behind it.

    An evaluator that was lost three times is not tried on the traces that are left.
    Raises: DefinitionError where an evaluator cannot be built.
    """
    documents = [dump_trace(trace).decode() for trace in traces]
    order = Try(setup=setup, wanted=list(wanted), traces=documents)
    lost: Counter[int] = Counter()
    while order.first < len(traces) * len(wanted):
        with apart(order) as process:
            ready = _ready(process)
            for tried in _outcomes(process, ready, traces, order, timeout_s):
                yield tried
                if tried.duration_ms is None and tried.outcome is not ABANDONED:
                    lost[order.first % len(wanted)] += 1
                order = order.model_copy(update={"first": order.first + 1})
        skipped = [number for number, times in lost.items() if times >= MAX_LOST]
        order = order.model_copy(update={"skipped": skipped})


def _ready(process: Apart) -> list[Ready]:
    try:
        return process.answer(STARTUP_S).ready or []
    except Lost as error:
        raise DefinitionError(
            f"the evaluators could not be imported; let them run nothing on import: {error}"
        ) from error


def _outcomes(
    process: Apart,
    ready: Sequence[Ready],
    traces: Sequence[Trace],
    order: Try,
    timeout_s: float | None,
) -> Iterator[Tried]:
    """Yield the outcomes of one process; after one that was lost there are no more."""
    for pair in range(order.first, len(traces) * len(ready)):
        trace_number, number = divmod(pair, len(ready))
        one = ready[number]
        made = partial(Tried, trace=traces[trace_number], ready=one)
        if number in order.skipped:
            yield made(outcome=ABANDONED, duration_ms=None)
            continue
        outcome, duration_ms = _next(process, timeout_s or one.timeout_s or DEFAULT_TIMEOUT_S)
        yield made(outcome=outcome, duration_ms=duration_ms)
        if duration_ms is None:
            return


def _next(process: Apart, limit_s: float) -> tuple[Outcome, float | None]:
    try:
        judgement = process.answer(limit_s).judgement
    except Lost as error:
        return Failure(error_type="Lost", message=f"{error}; mend the evaluator"), None
    if judgement is None:
        return Failure(error_type="Lost", message="the process answered out of turn"), None
    with contextlib.suppress(ValueError):
        return outcome_from_json(judgement.outcome), judgement.duration_ms
    return Failure(error_type="UnusableOutcome", message="the outcome cannot be read"), None


def is_bad(outcome: Outcome) -> bool:
    """Whether an outcome makes the command end with 1: a fail, or a broken evaluator."""
    return isinstance(outcome, Failure) or (
        isinstance(outcome, Score) and outcome.verdict == "fail"
    )


def only(traces: Sequence[Trace]) -> Trace:
    """The one trace there is.

    Raises: TracejuryError where there are more.
    """
    if len(traces) != 1:
        ids = ", ".join(trace.trace_id for trace in traces[:5])
        raise TracejuryError(f"there are {len(traces)} traces ({ids}); name a file that holds one")
    return traces[0]


def document(tried: Sequence[Tried], outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "results": [
            {
                "trace_id": one.trace.trace_id,
                "evaluator": one.ready.label,
                "type": one.ready.type,
                "fingerprint": one.ready.fingerprint,
                "duration_ms": one.duration_ms,
                **outcome,
            }
            for one, outcome in zip(tried, outcomes, strict=True)
        ],
        "bad": sum(is_bad(one.outcome) for one in tried),
    }
