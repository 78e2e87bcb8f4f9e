"""Labels over the API: stored once, listed, shown with what they are about, and deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.api import Api, agent_run
from tests.helpers.otlp import encoded, logs_request_of, make_log
from tracejury import Client
from tracejury.errors import ApiError
from tracejury.labels import EVENT_NAME
from tracejury.rest import LabelInput

TRACE = f"{1:032x}"
SPAN = f"{1:015x}1"


def post(api: Api, body: Any, status: int = 200) -> Any:
    answer = api.http.post("/api/labels", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def one(**fields: Any) -> dict[str, Any]:
    return {"trace_id": TRACE, "name": "correct", "value": "fail", **fields}


def names(page: dict[str, Any]) -> list[str]:
    return [item["name"] for item in page["items"]]


def test_a_label_is_stored_and_answered_as_it_stands(api: Api) -> None:
    given = one(span_id=SPAN.upper(), comment="wrong city", author="ann", created_at="2026-01-02")
    stored = post(api, given)
    [item] = stored["items"]
    assert (stored["added"], stored["replaced"], stored["unchanged"]) == (1, 0, 0)
    assert item == api.get("/api/labels")["items"][0]
    assert item["label_id"]
    assert {key: item[key] for key in item if key not in ("label_id", "received_at")} == {
        "target_kind": "span",
        "trace_id": TRACE,
        "span_id": SPAN,
        "session_id": None,
        "project": None,
        "name": "correct",
        "score": 0.0,
        "verdict": "fail",
        "value": None,
        "label": "fail",
        "comment": "wrong city",
        "author": "ann",
        "source": "api",
        "created_at": "2026-01-02T00:00:00.000000000Z",
    }


def test_many_are_stored_at_once_as_a_list_or_as_items(api: Api) -> None:
    many = [one(name=f"n{k}") for k in range(3)]
    assert post(api, many)["added"] == 3
    assert post(api, {"items": many})["added"] == 3


def test_a_label_with_an_id_is_stored_once_and_can_be_changed(api: Api) -> None:
    first, again, other = (
        post(api, one(label_id="row 7/ü", value=value)) for value in (0.5, 0.5, 0.75)
    )
    assert [found["added"] for found in (first, again, other)] == [1, 0, 0]
    assert (again["unchanged"], other["replaced"]) == (1, 1)
    assert again["items"][0]["created_at"] == first["items"][0]["created_at"]
    [item] = api.get("/api/labels")["items"]
    assert (item["label_id"], item["score"]) == ("row 7/ü", 0.75)


def test_a_trace_that_has_not_come_yet_may_be_labeled_and_is_told(api: Api) -> None:
    api.store(*agent_run(1))
    labels = [one(), one(trace_id=f"{9:032x}"), one(trace_id=None, session_id="chat")]
    assert post(api, labels)["unknown"] == [f"{9:032x}", "chat"]
    api.finish()
    assert post(api, one())["unknown"] == []
    assert post(api, one(trace_id=None, session_id="session-1"))["unknown"] == []


def test_a_label_on_a_session_is_of_a_project(api: Api) -> None:
    post(api, [one(trace_id=None, session_id="chat", project=p) for p in ("", "shop")])
    items = api.get("/api/labels", session_id="chat")["items"]
    assert {(item["target_kind"], item["project"]) for item in items} == {
        ("session", "default"),
        ("session", "shop"),
    }


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"name": "  "}, "items.0.name", "at least 1"),
        ({"name": "n" * 201}, "items.0.name", "at most 200"),
        ({"value": None}, "items.0", "give value, verdict or comment"),
        ({"value": " "}, "items.0.value", "1 to 200 characters"),
        ({"value": [1]}, "items.0.value", "give true or false"),
        ({"value": "v" * 201}, "items.0.value", "1 to 200 characters"),
        ({"verdict": "good"}, "items.0.verdict", "'pass'"),
        ({"trace_id": None}, "items.0", "either trace_id or session_id"),
        ({"session_id": "s"}, "items.0", "either trace_id or session_id"),
        ({"trace_id": "xyz"}, "items.0.trace_id", "pattern"),
        ({"trace_id": "0" * 32}, "items.0", "zeros"),
        ({"span_id": "1"}, "items.0.span_id", "pattern"),
        ({"trace_id": None, "session_id": "s", "span_id": SPAN}, "items.0", "needs its trace_id"),
        ({"comment": "c" * 10_001}, "items.0.comment", "at most"),
        ({"score": 1}, "items.0.score", "unknown setting"),
    ],
)
def test_what_is_no_label_is_refused_by_field(
    api: Api, wrong: dict[str, Any], field: str, said: str
) -> None:
    problem = post(api, [one(**wrong)], 422)
    fields = {item["field"]: item["message"] for item in problem["errors"]}
    assert said in fields[field]
    assert api.get("/api/labels")["items"] == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(api: Api, number: str) -> None:
    body = f'{{"trace_id": "{TRACE}", "name": "x", "value": {number}}}'
    answer = api.http.post(
        "/api/labels", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == "invalid_request"


@pytest.mark.parametrize(
    ("value", "score", "verdict"),
    [
        (True, 1.0, "pass"),
        (False, 0.0, "fail"),
        (1, 1.0, None),
        (4.5, None, None),
        ("ok", None, None),
    ],
)
def test_truth_values_numbers_and_words_are_told_apart(
    api: Api, value: Any, score: float | None, verdict: str | None
) -> None:
    [item] = post(api, one(value=value))["items"]
    assert (item["score"], item["verdict"]) == (score, verdict)


@pytest.mark.parametrize("body", [[], {"items": []}, "x", [one()] * 1001], ids=str)
def test_a_request_holds_one_to_a_thousand(api: Api, body: Any) -> None:
    assert post(api, body, 422)["code"] == "invalid_request"


@pytest.mark.parametrize("time", ["yesterday", "1969-12-31"])
def test_a_time_that_cannot_be_is_refused(api: Api, time: str) -> None:
    assert "created_at" in post(api, one(created_at=time), 400)["detail"]


@pytest.fixture
def said(api: Api) -> Api:
    """Five labels, the last one newest."""
    labels = [
        one(name="a", value=True, author="ann"),
        one(name="b", value=0.5, span_id=SPAN),
        one(name="c", value="fail", trace_id=f"{2:032x}"),
        one(name="d", trace_id=None, session_id="chat", project="shop"),
        one(name="e", value=3, author="bob"),
    ]
    for day, label in enumerate(labels, 1):
        post(api, {**label, "created_at": f"2026-01-0{day}T12:00:00Z"})
    return api


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({}, "edcba"),
        ({"trace_id": TRACE.upper()}, "eba"),
        ({"span_id": SPAN.upper()}, "b"),
        ({"session_id": "chat"}, "d"),
        ({"project": "shop"}, "d"),
        ({"name": "c"}, "c"),
        ({"verdict": "fail"}, "dc"),
        ({"author": "ann"}, "a"),
        ({"source": "log"}, ""),
        ({"since": "2026-01-03T12:00:00Z"}, "edc"),
        ({"trace_id": TRACE, "author": "bob"}, "e"),
    ],
)
def test_labels_are_listed_newest_first_by_filter(
    said: Api, params: dict[str, str], found: str
) -> None:
    assert "".join(names(said.get("/api/labels", **params))) == found


def test_pages_cover_every_label_once_while_others_arrive(said: Api) -> None:
    post(said, [one(name="same", created_at="2026-01-03T12:00:00Z") for _ in range(5)])
    seen: list[str] = []
    page = said.get("/api/labels", limit=3)
    while True:
        seen += [item["label_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        post(said, one(name="new", created_at="2026-01-09"))
        page = said.get("/api/labels", limit=3, cursor=page["next_cursor"])
    assert len(seen) == len(set(seen)) == 10


def test_a_trace_a_session_and_an_explanation_show_what_was_said(api: Api) -> None:
    api.store(*agent_run(1))
    api.finish()
    post(api, one(comment="wrong city", author="ann", value=False))
    post(api, one(trace_id=None, session_id="session-1", name="resolved", value=True))
    assert names({"items": api.get(f"/api/traces/{TRACE}")["labels"]}) == ["correct"]
    assert names({"items": api.get("/api/sessions/session-1")["labels"]}) == ["resolved"]
    story = api.get(f"/api/traces/{TRACE}/explain")
    assert names({"items": story["labels"]}) == ["correct"]
    assert story["lines"][-1] == "label 'correct' by ann: fail 0, wrong city"


def test_a_label_in_telemetry_is_listed_with_its_source(api: Api) -> None:
    attributes = [
        {"key": "gen_ai.evaluation.name", "value": {"string_value": "toxic"}},
        {"key": "gen_ai.evaluation.score.value", "value": {"double_value": 0.25}},
    ]
    log = make_log(1, event_name=EVENT_NAME, attributes=attributes)
    body = encoded(logs_request_of(log), "protobuf")
    api.context.ingest("logs", "protobuf", body, None).result(10)
    [item] = api.get("/api/labels", source="log")["items"]
    assert (item["name"], item["score"], item["target_kind"]) == ("toxic", 0.25, "span")
    rows = api.http.post("/api/sql", json={"sql": "SELECT name, score FROM labels"}).json()["rows"]
    assert rows == [["toxic", 0.25]]


def test_a_deleted_label_is_gone_and_unknown(api: Api) -> None:
    post(api, one(label_id="a/b"))
    assert api.http.delete("/api/labels/a%2Fb").status_code == 204
    gone = api.http.delete("/api/labels/a%2Fb")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    assert api.get("/api/labels")["items"] == []


def test_labels_are_counted_for_operators(api: Api) -> None:
    for _ in range(2):
        post(api, one(label_id="a"))
    metrics = api.http.get("/metrics").text
    assert 'tracejury_records_total{result="stored",signal="labels"} 1.0' in metrics
    assert 'tracejury_records_total{result="duplicate",signal="labels"} 1.0' in metrics


def test_the_client_stores_lists_and_deletes(api: Api, url: str) -> None:
    with Client(url) as client:
        label = LabelInput(trace_id=TRACE, name="correct", value=True, label_id="a/b")
        assert client.label(label).items[0].verdict == "pass"
        assert client.add_labels([label, label]).unchanged == 2
        assert [item.label_id for item in client.labels(name="correct").items] == ["a/b"]
        client.delete_label("a/b")
        with pytest.raises(ApiError, match="no label has the id 'a/b'"):
            client.delete_label("a/b")
