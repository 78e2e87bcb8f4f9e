"""Conditions of rules and strata fail alone, and are checked like the SQL door's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import bench, root, trace_id
from tracejury_collector.errors import ConfigError

FOUND = "SELECT target_id, outcome, stratum FROM base.decisions ORDER BY target_id"


def settings(**sample: Any) -> dict[str, Any]:
    return {"rules": {"r": {"evaluators": ["no-loops"], "sample": sample}}}


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ({"always": ["has_error", "no_such > 1"]}, r"rules\.r\.sample\.always\[1\].*no_such"),
        ({"always": ["latency_ms"]}, r"rules\.r\.sample\.always\[0\].*is DOUBLE"),
        ({"strata": {"s": {"where": "count(*) > 1"}}}, r"rules\.r\.sample\.strata\.s\.where"),
        ({"strata": {"s": {"where": "(SELECT true)"}}}, r"strata\.s\.where.*cannot be used"),
        ({"strata": {"s": {"where": "true) OR (true"}}}, r"strata\.s\.where"),
        ({"always": ["getenv('HOME') <> ''"]}, r"always\[0\]"),
        ({"always": ["superseded"]}, r"always\[0\]"),
        ({"always": ["upstream_probability < 1"]}, r"always\[0\]"),
    ],
)
def test_a_bad_condition_of_a_sample_stops_the_start_and_names_its_setting(
    tmp_path: Path, sample: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words), bench(tmp_path, settings(**sample)):
        pass


def test_of_many_conditions_only_the_one_that_fails_does_and_only_on_its_trace(
    tmp_path: Path,
) -> None:
    number = "service_name::INTEGER > 5"
    with bench(tmp_path, settings(rate=0, always=["has_error", number, "true"])) as store:
        for n, service in enumerate(("7", "none", "3"), start=1):
            store.spans(root(n, service_name=service, resource="{}"))
        store.spans(root(4, service_name="none", resource="{}", status="error"))
        store.after(4)
        assert [row[:2] for row in store.rows(FOUND)] == [
            (trace_id(1), "selected"),
            (trace_id(2), "condition_failed"),
            (trace_id(3), "selected"),
            (trace_id(4), "selected"),
        ]
        reasons = [store.stories.of_trace(trace_id(n))["decisions"][0]["reason"] for n in (1, 3, 4)]
        assert [reason.split(" holds")[0] for reason in reasons] == [
            f"'{number}'",
            "'true'",
            "'has_error'",
        ]


def test_a_condition_with_a_comment_or_of_null_does_not_reach_beyond_itself(tmp_path: Path) -> None:
    strata = {
        "dear": {"where": "cost_usd > 1", "rate": 0.0},
        "noted": {"where": "true -- all of them", "rate": 1.0},
    }
    with bench(tmp_path, settings(rate=0, strata=strata)) as store:
        store.spans(root(1))
        store.after(4)
        assert store.rows(FOUND) == [(trace_id(1), "selected", "noted")]


def test_names_and_texts_of_any_script_are_fine(tmp_path: Path) -> None:
    strata = {"日本語 'x'": {"where": "service_name = '予約 🛎'", "rate": 1.0}}
    with bench(tmp_path, settings(rate=0, strata=strata)) as store:
        store.spans(root(1, service_name="予約 🛎", resource="{}"))
        store.after(4)
        assert store.rows(FOUND) == [(trace_id(1), "selected", "日本語 'x'")]
