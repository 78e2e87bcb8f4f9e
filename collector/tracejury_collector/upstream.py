"""Sampling that went before: with what chance an exporter kept a trace, as its trace state says.

Source: OpenTelemetry, TraceState: Probability Sampling, keys `th` and `rv` of the entry `ot`; its
predecessor, key `p`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracejury.trace import SpanRecord

LEAST_PROBABILITY = 1e-6
"""What claims to be rarer is not believed: one such span would outweigh all others."""

_MAX_CHARACTERS = 4096
_DIGITS = 14
_SPACE = 1 << (4 * _DIGITS)
_THRESHOLD = re.compile(rf"[0-9a-f]{{1,{_DIGITS}}}")
_RANDOMNESS = re.compile(rf"[0-9a-f]{{{_DIGITS}}}")
_MAX_EXPONENT = 62


def upstream_probability(spans: Iterable[SpanRecord]) -> float:
    """Return with what chance these spans' trace was kept upstream, in (0, 1]; 1 if not said.

    Its root says so; without a root the span that started first.
    """
    first = min(spans, key=_root_first, default=None)
    return stated_probability(first.trace_state) if first else 1.0


def stated_probability(trace_state: str) -> float:
    """Return the chance that a W3C trace state tells of; 1 where it tells of none, or nonsense."""
    stated = dict(_ot_items(trace_state[:_MAX_CHARACTERS]))
    threshold = _threshold(stated)
    found = 1.0 if threshold is None else 1 - threshold / _SPACE
    return found if found >= LEAST_PROBABILITY else 1.0


def _root_first(span: SpanRecord) -> tuple[bool, int, str]:
    return bool(span.parent_span_id), span.start_ns, span.span_id


def _ot_items(trace_state: str) -> Iterator[tuple[str, str]]:
    for member in trace_state.split(","):
        key, _, value = member.strip().partition("=")
        if key == "ot":
            for item in value.split(";"):
                name, _, text = item.partition(":")
                yield name, text


def _threshold(stated: dict[str, str]) -> int | None:
    """Return the least randomness that was kept; None if unknown, or not what was really done."""
    if "th" not in stated:
        return _threshold_of_exponent(stated.get("p", ""))
    if not _THRESHOLD.fullmatch(stated["th"]):
        return None
    threshold = int(stated["th"].ljust(_DIGITS, "0"), 16)
    randomness = stated.get("rv", "")
    if _RANDOMNESS.fullmatch(randomness) and int(randomness, 16) < threshold:
        return None
    return threshold


def _threshold_of_exponent(p: str) -> int | None:
    """Return the threshold that keeps one trace in 2**p."""
    if not re.fullmatch("[0-9]{1,2}", p) or int(p) > _MAX_EXPONENT:
        return None
    return _SPACE - (_SPACE >> int(p))
