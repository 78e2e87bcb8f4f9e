"""The check of an evaluator against the protocol, on traces that are apt to break it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator, SchemaError
from pydantic import BaseModel, ValidationError

from tracejury.codec import dump_trace
from tracejury.evaluator import Criteria, Evaluator, EvaluatorFunction, run_evaluator
from tracejury.result import (
    Failure,
    Outcome,
    Score,
    outcome_from_json,
    outcome_to_json,
)
from tracejury.testing.elsewhere import fingerprint_elsewhere
from tracejury.testing.report import Judged, Report
from tracejury.testing.telling import HIDDEN, telling_traces
from tracejury.trace import Trace

MAX_PLACES = 3
Given = Mapping[str, Any] | Criteria


def check_evaluator(
    ev: Evaluator[Any] | EvaluatorFunction[Any],
    traces: Iterable[Trace] | Mapping[str, Trace] | None = None,
    criteria: Given | None = None,
    *,
    deterministic: bool = True,
    in_another_process: bool = True,
) -> Report:
    """The report on an evaluator that keeps the protocol.

    It is run on `telling_traces()` and on the `traces` given, without criteria where it needs
    none and with the `criteria` given. A function made an evaluator is checked with its default
    config. `deterministic=False` lets two runs differ; `in_another_process=False` leaves out the
    check of the fingerprint in another process, which takes half a second.

    Raises: AssertionError that lists everything that is wrong.
    """
    report = examine_evaluator(
        ev, traces, criteria, deterministic=deterministic, in_another_process=in_another_process
    )
    if report.findings:
        raise AssertionError(str(report))
    return report


def examine_evaluator(
    ev: Evaluator[Any] | EvaluatorFunction[Any],
    traces: Iterable[Trace] | Mapping[str, Trace] | None = None,
    criteria: Given | None = None,
    *,
    deterministic: bool = True,
    in_another_process: bool = True,
) -> Report:
    """The report on an evaluator, whatever was found; see `check_evaluator`."""
    evaluator = ev() if isinstance(ev, EvaluatorFunction) else ev
    subjects = telling_traces() | _named(traces)
    trials = list(_trials(evaluator, subjects, criteria))
    findings = [
        *_definition(evaluator, in_another_process),
        *_per_trial(trials, deterministic),
    ]
    return Report(
        type=evaluator.type,
        judged=tuple(trial.judged for trial in trials),
        findings=tuple(findings),
        notes=tuple(_notes(trials)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One judgement made twice, with what it did to its inputs."""

    judged: Judged
    again: Outcome
    trace: Trace
    changed: str

    @property
    def outcome(self) -> Outcome:
        """The first outcome."""
        return self.judged.outcome


def _named(traces: Iterable[Trace] | Mapping[str, Trace] | None) -> dict[str, Trace]:
    if isinstance(traces, Mapping):
        return dict(traces)
    return {f"yours, number {number}": trace for number, trace in enumerate(traces or (), 1)}


def _trials(
    evaluator: Evaluator[Any], subjects: Mapping[str, Trace], criteria: Given | None
) -> Iterator[Trial]:
    bare = criteria is None or _takes_nothing(evaluator)
    for name, trace in subjects.items():
        if bare:
            yield _trial(evaluator, name, trace, None)
        if criteria is not None:
            yield _trial(evaluator, name, trace, criteria)


def _takes_nothing(evaluator: Evaluator[Any]) -> bool:
    """Whether a case may come without criteria."""
    try:
        evaluator.criteria_type().model_validate({})
    except ValidationError:
        return False
    return True


def _trial(evaluator: Evaluator[Any], name: str, trace: Trace, criteria: Given | None) -> Trial:
    before = _state(evaluator, trace, criteria)
    started_s = time.perf_counter()
    outcome = run_evaluator(evaluator, trace, criteria)
    duration_ms = (time.perf_counter() - started_s) * 1e3
    again = run_evaluator(evaluator, trace, criteria)
    after = _state(evaluator, trace, criteria)
    changed = [part for part, value in before.items() if after[part] != value]
    judged = Judged(
        trace=name,
        with_criteria=criteria is not None,
        outcome=outcome,
        duration_ms=duration_ms,
    )
    return Trial(judged=judged, again=again, trace=trace, changed=" and ".join(changed))


def _state(evaluator: Evaluator[Any], trace: Trace, criteria: Given | None) -> dict[str, object]:
    given = criteria.model_dump() if isinstance(criteria, BaseModel) else criteria
    return {
        "the trace": dump_trace(trace),
        "the criteria": repr(given),
        "its own config": repr(evaluator.model_dump()),
    }


def _per_trial(trials: Iterable[Trial], deterministic: bool) -> Iterator[str]:
    """Each rule that some trials break, once, with the places."""
    kept = list(trials)
    for rule in RULES if deterministic else [rule for rule in RULES if rule is not _steady]:
        found: dict[str, list[str]] = {}
        for trial in kept:
            if said := rule(trial):
                found.setdefault(said, []).append(_place(trial.judged))
        for said, places in found.items():
            yield f"{said} (on {_places(places)})"


def _place(judged: Judged) -> str:
    return f"{judged.trace!r} with criteria" if judged.with_criteria else repr(judged.trace)


def _places(places: list[str]) -> str:
    more = len(places) - MAX_PLACES
    return ", ".join(places[:MAX_PLACES]) + (f" and {more} more" if more > 0 else "")


def _works(trial: Trial) -> str:
    if not isinstance(trial.outcome, Failure):
        return ""
    failure = trial.outcome
    if failure.error_type == "CriteriaError":
        return f"it needs criteria; give them as criteria={{…}}: {failure.message}"
    where = _last_frame(failure.traceback)
    return (
        f"it broke with {failure.error_type}: {failure.message}{where}; "
        "return a Skip where the trace does not hold what is needed"
    )


def _last_frame(traceback: str) -> str:
    frames = [line.strip() for line in traceback.splitlines() if line.strip().startswith("File ")]
    return f" at {frames[-1]}" if frames else ""


def _says_why(trial: Trial) -> str:
    outcome = trial.outcome
    if isinstance(outcome, Score) and outcome.verdict != "pass" and not outcome.reason.strip():
        return "a score that is no pass has no reason; return Score(value, reason='…')"
    return ""


def _steady(trial: Trial) -> str:
    if trial.outcome == trial.again:
        return ""
    return (
        "two runs on the same trace differ; leave out the clock, chance and the order of sets, "
        "or check it with deterministic=False"
    )


def _is_json(trial: Trial) -> str:
    try:
        text = json.dumps(outcome_to_json(trial.outcome), allow_nan=False)
        same = outcome_from_json(json.loads(text)) == trial.outcome
    except (TypeError, ValueError, RecursionError) as error:
        return f"the outcome is no JSON: {error}"
    return "" if same else "the outcome is another one after a round trip through JSON"


def _leaves_alone(trial: Trial) -> str:
    return f"it changes {trial.changed}; copy what is changed first" if trial.changed else ""


def _known_evidence(trial: Trial) -> str:
    outcome = trial.outcome
    evidence = outcome.evidence if isinstance(outcome, Score) else ()
    known = {span.span_id for span in trial.trace.spans}
    known |= {call.span_id for call in trial.trace.tool_calls}
    known |= {call.span_id for call in trial.trace.llm_calls}
    unknown = [span_id for span_id in evidence if span_id not in known]
    return f"evidence names {unknown[0]!r}, which is no span of the trace" if unknown else ""


def _skips_the_unseen(trial: Trial) -> str:
    outcome = trial.outcome
    hidden = trial.judged.trace == HIDDEN and isinstance(outcome, Score)
    if hidden and isinstance(outcome, Score) and outcome.verdict == "fail":
        return (
            "it fails a run whose content was not captured; "
            "return a Skip where trace.flags.not_captured is set and content is needed"
        )
    return ""


RULES: tuple[Callable[[Trial], str], ...] = (
    _works,
    _says_why,
    _steady,
    _is_json,
    _leaves_alone,
    _known_evidence,
    _skips_the_unseen,
)


def _definition(evaluator: Evaluator[Any], in_another_process: bool) -> Iterator[str]:
    yield from _schemas(evaluator)
    try:
        fingerprint = evaluator.fingerprint()
        rebuilt = type(evaluator).model_validate(evaluator.model_dump(mode="json", by_alias=True))
    except Exception as error:  # noqa: BLE001 - an author's field may refuse in any way
        yield f"its config cannot be written as JSON and read back: {error}"
        return
    if rebuilt.fingerprint() != fingerprint:
        yield (
            "the fingerprint is another one for the same config, written as JSON and read back; "
            "use fields that JSON can hold, and no default that changes"
        )
    elif in_another_process and fingerprint_elsewhere(evaluator) not in (fingerprint, None):
        yield "the fingerprint is another one in another process; use no default that changes"


def _schemas(evaluator: Evaluator[Any]) -> Iterator[str]:
    for name, schema in (
        ("config", evaluator.config_schema),
        ("criteria", evaluator.criteria_schema),
    ):
        try:
            Draft202012Validator.check_schema(json.loads(json.dumps(schema())))
        except (SchemaError, TypeError, ValueError) as error:
            yield f"the {name} has no usable JSON Schema: {error}"


def _notes(trials: Iterable[Trial]) -> Iterator[str]:
    outcomes = [trial.outcome for trial in trials]
    if not any(isinstance(outcome, Score) for outcome in outcomes):
        yield (
            "it skipped every trace, so no score was checked; in a test, "
            "check_evaluator(ev, traces=…, criteria=…) takes what it can judge"
        )
