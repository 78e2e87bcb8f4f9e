"""How frameworks record scores and feedback on spans, beside the standard event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracejury.dialects.decode import decode_strict, to_float, to_name

MAX_SCORES: Final = 100
"""Scores of one span that are read."""

_FEEDBACK: Final = "logfire.feedback.name"
_FEEDBACK_COMMENT: Final = "logfire.feedback.comment"
_BRAINTRUST: Final = "braintrust.scores"
_TRULENS: Final = "ai.observability.eval_root."
_TRULENS_WHY: Final = "ai.observability.eval.explanation"
_LAMINAR: Final = "lmnr.span.type"
_LAMINAR_TYPES: Final = frozenset({"EVALUATOR", "HUMAN_EVALUATOR"})
_NAMES: Final = ("name", "key")
_WORDS: Final = ("label", "value", "score")
_NUMBERS: Final = ("score", "value")
_REASONS: Final = ("explanation", "rationale", "reason", "reasoning", "justification", "comment")

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was said, as it was recorded."""

    name: str
    value: bool | float | str | None = None
    label: str = ""
    comment: str = ""

    @property
    def says_something(self) -> bool:
        """Whether there is a value, a word or a reason."""
        return self.value is not None or bool(self.label or self.comment)


def is_feedback_span(attributes: Attributes) -> bool:
    """Whether the span is feedback on its parent: Logfire's annotations are."""
    return _FEEDBACK in attributes


def carries_scores(attributes: Attributes) -> bool:
    """Whether a span of any kind names scores or feedback."""
    return _FEEDBACK in attributes or _BRAINTRUST in attributes


def readings(
    name: str, kind: str, dialect: str, output: str | None, attributes: Attributes
) -> list[Given]:
    """What a span says by the ways of its framework; most spans say nothing."""
    if _FEEDBACK in attributes:
        found = _logfire(attributes)
    elif _BRAINTRUST in attributes:
        found = _scores(decode_strict(attributes[_BRAINTRUST]))
    elif kind != "evaluator" or dialect == "braintrust":
        return []  # the output of Braintrust's evaluations is that of the task
    elif _TRULENS + "score" in attributes:
        found = _trulens(name, attributes)
    else:
        found = _outcome(name, output, attributes)
    return [given for given in found if given.name and given.says_something]


def _logfire(attributes: Attributes) -> Iterator[Given]:
    """Numbers are scores, texts labels, truth values assertions, under an attribute of the name."""
    name = to_name(attributes[_FEEDBACK])
    comment = to_name(attributes.get(_FEEDBACK_COMMENT))
    yield Given(name=name, value=_value(attributes.get(name)), comment=comment)


def _scores(data: Any) -> Iterator[Given]:
    """A score by each name; null is none."""
    for name, value in list(data.items())[:MAX_SCORES] if isinstance(data, dict) else ():
        yield Given(name=to_name(name), value=_value(value))


def _trulens(name: str, attributes: Attributes) -> Iterator[Given]:
    metric = to_name(attributes.get(_TRULENS + "metric_name")) or name
    comment = to_name(attributes.get(_TRULENS_WHY))
    yield Given(name=metric, value=to_float(attributes[_TRULENS + "score"]), comment=comment)


def _outcome(name: str, output: str | None, attributes: Attributes) -> Iterator[Given]:
    """What an evaluator's span gave back: an object with a score or label, or bare numbers."""
    data = decode_strict(output)
    bare = attributes.get(_LAMINAR) in _LAMINAR_TYPES
    if isinstance(data, dict) and (data.keys() & {*_WORDS}):
        yield _feedback(name, data)
    elif bare and isinstance(data, dict):
        yield from _scores(data)
    elif bare and output:
        yield Given(name=name, value=to_float(output))


def _feedback(name: str, data: Mapping[str, Any]) -> Given:
    number = next((v for key in _NUMBERS if (v := _value(data.get(key))) is not None), None)
    word = next((data[key] for key in _WORDS if isinstance(data.get(key), str)), "")
    return Given(
        name=next((n for key in _NAMES if (n := to_name(data.get(key)))), name),
        value=None if isinstance(number, str) else number,
        label=to_name(word),
        comment=next((c for key in _REASONS if (c := to_name(data.get(key)))), ""),
    )


def _value(value: Any) -> bool | float | str | None:
    if isinstance(value, bool):
        return value
    return to_name(value) or None if isinstance(value, str) else to_float(value)
