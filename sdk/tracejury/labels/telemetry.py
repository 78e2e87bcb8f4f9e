"""Labels that travel with telemetry: as events of spans, as log records, and as spans.

Source: OpenTelemetry semantic conventions for generative AI, event `gen_ai.evaluation.result`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from tracejury.dialects.decode import to_float, to_name
from tracejury.labels.frameworks import (
    Given,
    carries_scores,
    is_feedback_span,
    readings,
)
from tracejury.labels.meaning import (
    MAX_COMMENT_CHARS,
    MAX_ID_CHARS,
    MAX_NAME_CHARS,
    Label,
    LabelSource,
    meaning,
)
from tracejury.result import VERDICTS

EVENT_NAME: Final = "gen_ai.evaluation.result"
NAME: Final = "gen_ai.evaluation.name"
SCORE_VALUE: Final = "gen_ai.evaluation.score.value"
SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
EXPLANATION: Final = "gen_ai.evaluation.explanation"
AUTHOR: Final = "tracejury.label.author"
LABEL_ID: Final = "tracejury.label.id"
VERDICT: Final = "tracejury.label.verdict"
OWN: Final = "tracejury.evaluator.fingerprint"
"""Stands on results of Tracejury's own: they are scores already."""

_ERROR: Final = "error.type"
_AUTHORS: Final = (AUTHOR, "gen_ai.evaluation.evaluator.name", "gen_ai.evaluation.evaluator.id")

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The span that speaks, as it was recorded, and what the dialects made of it.

    `events` are (name, time in ns, attributes), `links` are (trace id, span id).
    """

    trace_id: str
    span_id: str
    parent_span_id: str = ""
    project: str = ""
    name: str = ""
    kind: str = "unknown"
    dialect: str = ""
    output: str | None = None
    time_ns: int = 0
    attributes: Attributes
    events: Iterable[tuple[str, int, Attributes]] = ()
    links: Sequence[tuple[str, str]] = ()


def is_label_log(event_name: str) -> bool:
    """Whether a log record of this name is a label and nothing else."""
    return event_name == EVENT_NAME


def is_label_span(name: str, attributes: Attributes) -> bool:
    """Whether a span is a label and nothing else: no part of what the agent did."""
    return name == EVENT_NAME or is_feedback_span(attributes)


def may_carry_labels(kind: str, attributes: Attributes, event_names: Iterable[str]) -> bool:
    """Whether `span_labels` has to look at a span; false at once for nearly all of them."""
    return (
        kind == "evaluator"
        or NAME in attributes
        or carries_scores(attributes)
        or EVENT_NAME in event_names
    )


def span_labels(span: Said) -> list[Label]:
    """The labels that a span carries: those of its events, else what it says itself."""
    target = _target(span)
    found = [
        _label(span, "span_event", given, attributes, time_ns or span.time_ns, target)
        for name, time_ns, attributes in span.events
        if name == EVENT_NAME
        for given in _standard(attributes)
    ]
    if not found:
        itself = [*_standard(span.attributes)] or readings(
            span.name, span.kind, span.dialect, span.output, span.attributes
        )
        found = [
            _label(span, "span", given, span.attributes, span.time_ns, target) for given in itself
        ]
    return [*{label.label_id: label for label in found}.values()]


def log_labels(
    *, trace_id: str, span_id: str, project: str, time_ns: int, attributes: Attributes, body: Any
) -> list[Label]:
    """The label in a log record of that event; its data may stand in the body instead."""
    data = {**body, **attributes} if isinstance(body, dict) else attributes
    record = Said(trace_id=trace_id, span_id=span_id, project=project, attributes=data)
    target = trace_id, span_id
    return [_label(record, "log", given, data, time_ns, target) for given in _standard(data)]


def _standard(attributes: Attributes) -> Iterator[Given]:
    """What the standard attributes say; nothing where the evaluation failed or it is our own."""
    name = to_name(attributes.get(NAME))
    if not name or attributes.get(_ERROR) or OWN in attributes:
        return
    value = attributes.get(SCORE_VALUE)
    given = Given(
        name=name,
        value=value if isinstance(value, bool) else to_float(value),
        label=to_name(attributes.get(SCORE_LABEL)),
        comment=to_name(attributes.get(EXPLANATION)),
    )
    if given.says_something:
        yield given


def _target(span: Said) -> tuple[str, str]:
    """The trace and span that are spoken of: an evaluation's own span is not what it judges."""
    if span.kind != "evaluator" and not is_label_span(span.name, span.attributes):
        return span.trace_id, span.span_id
    if len(span.links) == 1:
        return span.links[0]
    return span.trace_id, span.parent_span_id or span.span_id


def _label(
    span: Said,
    source: LabelSource,
    given: Given,
    attributes: Attributes,
    time_ns: int,
    target: tuple[str, str],
) -> Label:
    verdict = next((v for v in VERDICTS if v == attributes.get(VERDICT)), None)
    said = meaning(given.value, label=given.label[:MAX_NAME_CHARS], verdict=verdict)
    own_id = to_name(attributes.get(LABEL_ID))[:MAX_ID_CHARS]
    key = (span.trace_id, span.span_id, time_ns, given.name, said.value, said.label, given.comment)
    return Label(
        label_id=own_id or _hashed(key),
        name=given.name[:MAX_NAME_CHARS],
        source=source,
        trace_id=target[0],
        span_id=target[1],
        project=span.project,
        value=said.value,
        score=said.score,
        verdict=said.verdict,
        label=said.label,
        comment=_cut(given.comment),
        author=_author(attributes),
        created_at_ns=time_ns,
    )


def _author(attributes: Attributes) -> str:
    names = (to_name(attributes.get(key)) for key in _AUTHORS)
    return next((name[:MAX_NAME_CHARS] for name in names if name), "")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_COMMENT_CHARS else text[: MAX_COMMENT_CHARS - 1] + "…"


def _hashed(key: tuple[object, ...]) -> str:
    """The id of a label without one: the same however often its span is sent."""
    return "otlp-" + hashlib.blake2b(orjson.dumps(key), digest_size=16).hexdigest()
