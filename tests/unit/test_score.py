"""score(): feedback on the current span, as a standard event that is read back as a label."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from tracejury import score
from tracejury.errors import DefinitionError, MissingExtraError, UnreachableError
from tracejury.labels import Label, Said, span_labels
from tracejury.otel import _warn_without_span

NOBODY = "http://127.0.0.1:9"


class Spans:
    """Spans that are made here and kept in memory."""

    def __init__(self) -> None:
        self.kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.kept))

    def scored(self, *args: Any, **kwargs: Any) -> tuple[bool, ReadableSpan]:
        """Return what score() said on a current span, and that span."""
        with self.provider.get_tracer("t").start_as_current_span("chat"):
            said = score(*args, **kwargs)
        return said, self.kept.get_finished_spans()[-1]


@pytest.fixture
def spans() -> Iterator[Spans]:
    made = Spans()
    yield made
    made.provider.shutdown()


def read_back(span: ReadableSpan) -> Label:
    """The one label that the service reads out of the span."""
    events = [(e.name, e.timestamp, dict(e.attributes or {})) for e in span.events]
    [label] = span_labels(Said(trace_id="t", span_id="s", attributes={}, events=events))
    return label


def test_the_current_span_carries_the_standard_event(spans: Spans) -> None:
    said, span = spans.scored("helpful", 0.5, comment="a bit long", author="ann")
    [event] = span.events
    assert said
    assert event.name == "gen_ai.evaluation.result"
    assert event.attributes == {
        "gen_ai.evaluation.name": "helpful",
        "gen_ai.evaluation.score.value": 0.5,
        "gen_ai.evaluation.explanation": "a bit long",
        "tracejury.label.author": "ann",
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"value": True}, (1.0, 1.0, "pass", "pass")),
        ({"value": False}, (0.0, 0.0, "fail", "fail")),
        ({"value": 4}, (4.0, None, None, "")),
        ({"value": "relevant"}, (None, None, None, "relevant")),
        ({"value": "relevant", "verdict": "pass"}, (None, 1.0, "pass", "relevant")),
        ({"value": 0.3, "verdict": "fail"}, (0.3, 0.3, "fail", "fail")),
        ({"comment": "see ticket 7"}, (None, None, None, "")),
    ],
    ids=str,
)
def test_the_service_reads_what_was_said(
    spans: Spans, given: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    label = read_back(spans.scored("x", **given, label_id="row-1")[1])
    assert (label.value, label.score, label.verdict, label.label) == expected
    assert (label.name, label.label_id) == ("x", "row-1")
    assert label.comment == given.get("comment", "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "name: .* at least 1"),
        ({"value": float("nan")}, "value: .* finite number"),
        ({"value": None}, "give value, verdict or comment"),
        ({"value": [1]}, "value: .* give true or false"),
        ({"verdict": "good"}, "verdict: "),
        ({"span_id": 2}, "trace_id or session_id"),
        ({"trace_id": "short"}, "trace_id: "),
        ({"trace_id": 1, "session_id": "s"}, "trace_id or session_id"),
    ],
    ids=str,
)
def test_what_is_no_label_is_an_error_whatever_is_current(given: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        score(**{"name": "x", "value": 1.0, "url": NOBODY, **given})


def test_without_a_span_nothing_happens_and_the_first_time_it_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _warn_without_span.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert [score("x", True), score("x", True)] == [False, False]
    assert caplog.text.count("give a trace_id") == 1


def test_a_span_that_is_not_sampled_takes_nothing_and_that_is_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _warn_without_span.cache_clear()
    tracer = TracerProvider(sampler=ALWAYS_OFF).get_tracer("t")
    with caplog.at_level(logging.WARNING), tracer.start_as_current_span("chat"):
        assert not score("x", True)
    assert caplog.text == ""


def test_a_service_that_does_not_answer_is_an_error_where_a_target_is_named() -> None:
    with pytest.raises(UnreachableError, match="tracejury serve"):
        score("x", True, trace_id=1, url=NOBODY)


def test_without_opentelemetry_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tracejury\[instrument\]'"):
        score("x", True)
