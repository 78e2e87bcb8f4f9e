"""Rules that judge sessions: what they may say, and that traces are none of their business."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import bench, root
from tracejury_collector.errors import ConfigError
from tracejury_collector.store.columns import arrow_table
from tracejury_collector.store.session_rows import SESSION_COLUMNS

QUERY = {"type": "sql", "config": {"sql": "SELECT trace_id, 1 AS score FROM targets"}}


def rules(**spec: Any) -> dict[str, Any]:
    rule = {"target": "session", "evaluators": ["non-empty-output"], **spec}
    return {"rules": {"whole": rule}}


def test_the_columns_of_conditions_are_those_of_the_view(tmp_path: Path) -> None:
    with bench(tmp_path) as store, store.db.read() as cursor:
        view = cursor.execute("DESCRIBE main.sessions").fetchall()
        cursor.register("columns_of_rules", arrow_table(SESSION_COLUMNS, []))
        ours = cursor.execute("DESCRIBE columns_of_rules").fetchall()
        assert [row[:2] for row in ours] == [row[:2] for row in view]


def test_traces_are_not_decided_by_a_rule_on_sessions(tmp_path: Path) -> None:
    with bench(tmp_path, rules(where="runs > 1 AND cost_usd IS NULL")) as store:
        store.spans(root())
        assert store.after(4) == 1
        assert store.rows("FROM base.decisions") == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"where": "latency_ms > 5"}, "latency_ms"),
        ({"where": "target_id = 'x'"}, "target_id"),
        ({"evaluators": ["query"]}, "'query' is a query about traces and cannot judge sessions"),
    ],
)
def test_a_session_rule_that_cannot_work_stops_the_start(
    tmp_path: Path, spec: dict[str, Any], words: str
) -> None:
    settings = {**rules(**spec), "evaluators": {"query": QUERY, "non-empty-output": EMPTY}}
    with pytest.raises(ConfigError, match=words), bench(tmp_path, settings):
        pass


EMPTY = {"type": "non-empty-output"}
