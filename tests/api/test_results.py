"""The list of results."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.api import SECOND_NS, START_NS, Api, record_result


@pytest.fixture
def judged(api: Api) -> Api:
    """Five results: two evaluators, two traces, one superseded."""
    rows: list[dict[str, Any]] = [
        {"evaluator": "fast", "verdict": "pass"},
        {"evaluator": "right", "verdict": "fail", "score": 0.0, "rule": "strict"},
        {"evaluator": "fast", "trace_id": f"{2:032x}", "verdict": "partial", "score": 0.5},
        {"evaluator": "crash", "outcome": "failure", "verdict": None, "score": None},
        {"evaluator": "old", "superseded": True},
    ]
    for n, row in enumerate(rows):
        record_result(api, decision_id=f"d{n}", at_ns=START_NS + n * SECOND_NS, **row)
    return api


def names(page: dict[str, list[dict[str, str]]]) -> list[str]:
    return [item["evaluator"] for item in page["items"]]


def test_results_come_newest_first_and_only_current_ones(judged: Api) -> None:
    page = judged.get("/api/results")
    assert names(page) == ["crash", "fast", "right", "fast"]
    assert page["next_cursor"] is None


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"trace_id": f"{2:032X}"}, ["fast"]),
        ({"evaluator": "right"}, ["right"]),
        ({"rule": "strict"}, ["right"]),
        ({"outcome": "failure"}, ["crash"]),
        ({"verdict": "partial"}, ["fast"]),
        ({"verdict": "pass", "evaluator": "right"}, []),
        ({"superseded": "true", "evaluator": "old"}, ["old"]),
        ({"since": "2026-09-21T13:33:22Z"}, None),
    ],
)
def test_filters_choose_results(
    judged: Api, params: dict[str, str], found: list[str] | None
) -> None:
    page = judged.get("/api/results", **params)
    if found is None:
        assert all(item["created_at"] >= params["since"] for item in page["items"])
        found = names(page)
    assert names(page) == found


def test_since_is_inclusive(judged: Api) -> None:
    third = judged.get("/api/results")["items"][1]["created_at"]
    assert names(judged.get("/api/results", since=third)) == ["crash", "fast"]


def test_a_crash_is_no_score(judged: Api) -> None:
    [result] = judged.get("/api/results", outcome="failure")["items"]
    assert result["score"] is None
    assert result["verdict"] is None


def test_pages_cover_every_result_once_while_others_arrive(judged: Api) -> None:
    for n in range(6):
        record_result(judged, decision_id=f"same-{n}", evaluator=f"e{n}", at_ns=START_NS)
    seen: list[str] = []
    page = judged.get("/api/results", limit=3)
    while True:
        seen += names(page)
        if page["next_cursor"] is None:
            break
        record_result(judged, evaluator="new", decision_id=f"n{len(seen)}", at_ns=START_NS + 10**12)
        page = judged.get("/api/results", limit=3, cursor=page["next_cursor"])
    assert sorted(seen) == sorted(["crash", "fast", "right", "fast", *(f"e{n}" for n in range(6))])


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"verdict": "maybe"}, "verdict"),
        ({"outcome": "x"}, "outcome"),
        ({"superseded": "x"}, "superseded"),
        ({"evalutor": "fast"}, "evalutor"),
    ],
)
def test_a_wrong_filter_is_named(shared: Api, params: dict[str, str], field: str) -> None:
    answer = shared.http.get("/api/results", params=params)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
