"""Labels in telemetry: what is read as one, what it means, and whom it is about."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tracejury.labels import (
    MAX_COMMENT_CHARS,
    Label,
    Meaning,
    Said,
    is_label_span,
    log_labels,
    may_carry_labels,
    meaning,
    span_labels,
)
from tracejury.labels.frameworks import MAX_SCORES

TRACE, SPAN, PARENT = f"{1:032x}", f"{2:016x}", f"{3:016x}"
EVENT = "gen_ai.evaluation.result"


def standard(name: str = "correct", **more: Any) -> dict[str, Any]:
    """The standard attributes of a result: `value`, `label`, `why` and others as they are."""
    keys = {"value": "score.value", "label": "score.label", "why": "explanation"}
    given = {f"gen_ai.evaluation.{keys[k]}" if k in keys else k: v for k, v in more.items()}
    return {"gen_ai.evaluation.name": name, **given}


def said(**fields: Any) -> list[Label]:
    """The labels of a span below `PARENT`, which carries labels as far as a first look says."""
    given = {"attributes": {}, "trace_id": TRACE, "span_id": SPAN, "parent_span_id": PARENT}
    span = Said(**{**given, "time_ns": 7, **fields})
    found = span_labels(span)
    names = [name for name, *_ in span.events]
    assert may_carry_labels(span.kind, span.attributes, names) or not found
    return found


def event(*, time_ns: int = 5, **more: Any) -> tuple[str, int, dict[str, Any]]:
    return EVENT, time_ns, standard(**more)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"value": True}, Meaning(value=1.0, score=1.0, verdict="pass")),
        ({"value": False}, Meaning(value=0.0, score=0.0, verdict="fail")),
        ({"value": 1}, Meaning(value=1.0, score=1.0)),
        ({"value": 0.25}, Meaning(value=0.25, score=0.25)),
        ({"value": 4.0}, Meaning(value=4.0)),
        ({"value": -1}, Meaning(value=-1.0)),
        ({"value": 1 + 1e-12}, Meaning(value=1 + 1e-12, score=1.0)),
        ({"value": math.nan}, Meaning()),
        ({"value": math.inf}, Meaning()),
        ({"value": 10**400}, Meaning()),
        ({"value": None}, Meaning()),
        ({"value": "pass"}, Meaning(score=1.0, verdict="pass", label="pass")),
        ({"value": "Thumbs Down"}, Meaning(score=0.0, verdict="fail", label="Thumbs Down")),
        ({"value": "partially-correct"}, Meaning(verdict="partial", label="partially-correct")),
        ({"value": "yes"}, Meaning(label="yes")),
        (
            {"value": 0.9, "label": "incorrect"},
            Meaning(value=0.9, score=0.9, verdict="fail", label="incorrect"),
        ),
        ({"value": 5, "label": "pass"}, Meaning(value=5.0, verdict="pass", label="pass")),
        ({"value": "pass", "verdict": "fail"}, Meaning(score=0.0, verdict="fail", label="pass")),
        ({"value": None, "verdict": "partial"}, Meaning(verdict="partial")),
    ],
    ids=str,
)
def test_a_number_is_a_score_where_it_can_be_and_no_verdict(
    given: dict[str, Any], expected: Meaning
) -> None:
    assert meaning(**given) == expected


def test_an_event_of_a_span_is_a_label_on_it() -> None:
    attributes = standard("helpful", value=0.5, label="so so", why="too long")
    [label] = said(kind="llm", project="shop", events=[(EVENT, 5, attributes), ("other", 6, {})])
    assert label == Label(
        label_id=label.label_id,
        name="helpful",
        source="span_event",
        trace_id=TRACE,
        span_id=SPAN,
        project="shop",
        value=0.5,
        score=0.5,
        label="so so",
        comment="too long",
        created_at_ns=5,
    )


def test_the_same_event_has_the_same_id_and_others_have_others() -> None:
    first = [label.label_id for label in said(events=[event(value=1.0)])]
    assert first == [label.label_id for label in said(events=[event(value=1.0)], output="more")]
    variants = [
        said(events=[event(value=0.0)]),
        said(events=[event(value=1.0, time_ns=6)]),
        said(events=[event(value=1.0, name="other")]),
        said(events=[event(value=1.0)], span_id=PARENT),
        said(events=[event(value=1.0)], trace_id=f"{9:032x}"),
    ]
    ids = [label.label_id for labels in variants for label in labels]
    assert len({*first, *ids}) == 6


def test_an_event_that_stands_twice_is_one_label() -> None:
    assert len(said(events=[event(value=1.0), event(value=1.0)])) == 1


def test_a_time_that_is_missing_is_that_of_the_span() -> None:
    assert [label.created_at_ns for label in said(events=[event(time_ns=0, value=1.0)])] == [7]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.evaluation.score.value": 1.0},
        standard("", value=1.0),
        standard(),
        standard(value=math.nan),
        standard(value="x"),
        standard(value=1.0, **{"error.type": "TimeoutError"}),
        standard(value=1.0, **{"tracejury.evaluator.fingerprint": "abc"}),
    ],
    ids=["no name", "empty name", "nothing said", "NaN", "no number", "failed", "our own result"],
)
def test_what_says_nothing_is_no_label(attributes: dict[str, Any]) -> None:
    assert said(events=[(EVENT, 5, attributes)]) == []


def test_a_comment_alone_is_a_label() -> None:
    [label] = said(events=[event(why="see ticket 7")])
    assert (label.comment, label.score, label.verdict) == ("see ticket 7", None, None)


def test_long_texts_are_cut() -> None:
    [label] = said(events=[event(name="n" * 999, label="l" * 999, why="c" * 99_999)])
    assert (len(label.name), len(label.label)) == (200, 200)
    assert len(label.comment) == MAX_COMMENT_CHARS
    assert label.comment.endswith("…")


def test_who_said_it_is_kept_and_an_id_of_the_senders() -> None:
    more: dict[str, Any] = {"tracejury.label.author": "ann", "tracejury.label.id": "row-7"}
    [label] = said(events=[event(value=1.0, **more)])
    assert (label.author, label.label_id) == ("ann", "row-7")
    more = {"gen_ai.evaluation.evaluator.name": "judge"}
    [label] = said(events=[event(value=1.0, **more)])
    assert label.author == "judge"


def test_an_evaluation_speaks_of_its_parent_or_of_what_it_links_to() -> None:
    other = (f"{8:032x}", f"{9:016x}")
    results = {"kind": "evaluator", "events": [event(value=1.0)]}
    assert [label.span_id for label in said(**results)] == [PARENT]
    assert [label.span_id for label in said(**results, parent_span_id="")] == [SPAN]
    [linked] = said(**results, links=[other])
    assert (linked.trace_id, linked.span_id) == other
    assert [label.span_id for label in said(**results, links=[other, other])] == [PARENT]
    assert [label.span_id for label in said(**{**results, "kind": "llm"}, links=[other])] == [SPAN]


SPANS: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    "standard attributes on the span judged": (
        {"kind": "llm", "attributes": standard("toxic", value=0.1)},
        [("toxic", 0.1, None, "", "", SPAN)],
    ),
    "a point-in-time span named like the event": (
        {"name": EVENT, "attributes": standard("toxic", label="pass")},
        [("toxic", 1.0, "pass", "pass", "", PARENT)],
    ),
    "feedback of Logfire, a number": (
        {
            "name": "feedback: factuality",
            "attributes": {
                "logfire.feedback.name": "factuality",
                "factuality": 0.1,
                "logfire.feedback.comment": "the agent lied",
            },
        },
        [("factuality", 0.1, None, "", "the agent lied", PARENT)],
    ),
    "feedback of Logfire, an assertion": (
        {"attributes": {"logfire.feedback.name": "ok", "ok": False}},
        [("ok", 0.0, "fail", "", "", PARENT)],
    ),
    "feedback of Logfire, a word": (
        {"attributes": {"logfire.feedback.name": "Annotation", "Annotation": "positive"}},
        [("Annotation", None, None, "positive", "", PARENT)],
    ),
    "feedback of Logfire without its value": (
        {"attributes": {"logfire.feedback.name": "ok"}},
        [],
    ),
    "scores of Braintrust": (
        {
            "kind": "evaluator",
            "dialect": "braintrust",
            "attributes": {"braintrust.scores": '{"Equals": 0, "Close": 0.5, "Skipped": null}'},
        },
        [("Equals", 0.0, None, "", "", PARENT), ("Close", 0.5, None, "", "", PARENT)],
    ),
    "scores of Braintrust that are broken": (
        {"attributes": {"braintrust.scores": '{"Equals": '}},
        [],
    ),
    "an evaluation of Braintrust gives what the task gave": (
        {"kind": "evaluator", "dialect": "braintrust", "output": '{"score": 0.5}'},
        [],
    ),
    "a metric of TruLens": (
        {
            "kind": "evaluator",
            "attributes": {
                "ai.observability.eval_root.metric_name": "Groundedness",
                "ai.observability.eval_root.score": 0.75,
                "ai.observability.eval.explanation": "all cited",
            },
        },
        [("Groundedness", 0.75, None, "", "all cited", PARENT)],
    ),
    "an evaluator that gave an object": (
        {
            "kind": "evaluator",
            "name": "relevance",
            "output": '{"score": 1, "label": "relevant", "explanation": "on topic"}',
        },
        [("relevance", 1.0, None, "relevant", "on topic", PARENT)],
    ),
    "feedback with a name of its own": (
        {
            "kind": "evaluator",
            "name": "run",
            "output": '{"name": "safe", "value": "pass", "rationale": "mild"}',
        },
        [("safe", 1.0, "pass", "pass", "mild", PARENT)],
    ),
    "an evaluator of Laminar that gave a number": (
        {
            "kind": "evaluator",
            "name": "exact",
            "output": "0.5",
            "attributes": {"lmnr.span.type": "EVALUATOR"},
        },
        [("exact", 0.5, None, "", "", PARENT)],
    ),
    "an evaluator of Laminar that gave several": (
        {
            "kind": "evaluator",
            "name": "all",
            "output": '{"exact": 1, "close": 0.5}',
            "attributes": {"lmnr.span.type": "HUMAN_EVALUATOR"},
        },
        [("exact", 1.0, None, "", "", PARENT), ("close", 0.5, None, "", "", PARENT)],
    ),
    "an evaluator that gave text": (
        {"kind": "evaluator", "name": "judge", "output": "It looks fine."},
        [],
    ),
    "an evaluator that gave nothing": ({"kind": "evaluator", "name": "judge"}, []),
    "an agent whose answer has a score": ({"kind": "agent", "output": '{"score": 1}'}, []),
}


@pytest.mark.parametrize("name", SPANS)
def test_scores_are_read_as_frameworks_record_them(name: str) -> None:
    fields, expected = SPANS[name]
    found = said(**fields)
    assert [(x.name, x.score, x.verdict, x.label, x.comment, x.span_id) for x in found] == expected
    assert {label.source for label in found} <= {"span"}


def test_a_score_that_stands_in_an_event_too_counts_once() -> None:
    attributes = {"ai.observability.eval_root.score": 0.75}
    found = said(
        kind="evaluator", name="g", attributes=attributes, events=[event(name="g", value=0.75)]
    )
    assert [(label.name, label.source) for label in found] == [("g", "span_event")]


def test_no_more_scores_of_a_span_are_read_than_the_limit() -> None:
    many = {f"s{n}": 1.0 for n in range(MAX_SCORES + 50)}
    assert len(said(attributes={"braintrust.scores": many})) == MAX_SCORES


def test_feedback_and_results_that_are_spans_are_no_part_of_what_an_agent_did() -> None:
    assert is_label_span(EVENT, {})
    assert is_label_span("feedback: ok", {"logfire.feedback.name": "ok"})
    assert not is_label_span("evaluate answer", standard(value=1.0))


@pytest.mark.parametrize(
    ("attributes", "body", "score"),
    [
        (standard(value=0.5), None, 0.5),
        (standard(value="0.5"), "evaluation: correct=0.5", 0.5),
        ({}, standard(value=0.5), 0.5),
        (standard(value=0.5), standard(value=0.1), 0.5),
    ],
    ids=["attributes", "text for a number", "all in the body", "attributes win"],
)
def test_a_log_record_is_a_label_on_the_span_it_names(
    attributes: dict[str, Any], body: Any, score: float
) -> None:
    more: dict[str, Any] = {"trace_id": TRACE, "project": "shop", "time_ns": 9}
    [label] = log_labels(span_id=SPAN, attributes=attributes, body=body, **more)
    assert (label.source, label.score, label.span_id) == ("log", score, SPAN)
    [label] = log_labels(span_id="", attributes=attributes, body=body, **more)
    assert (label.trace_id, label.span_id, label.created_at_ns) == (TRACE, "", 9)
