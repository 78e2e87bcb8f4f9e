"""The examples in the description of the API: what a service really answers, written to its file.

`python -m tests.helpers.api_examples` writes them anew after documents have changed.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from starlette.testclient import TestClient

import tracejury_collector.api
from tests.helpers.api import Api, agent_run, record_result, running_api
from tests.helpers.judged import Decided, insert_decided
from tracejury_collector.api.app import create_app
from tracejury_collector.keys.file import change_keys
from tracejury_collector.keys.model import new_key
from tracejury_collector.keys.ring import KeyRing

FILE = Path(tracejury_collector.api.__file__).parent / "examples.json"
SHOWN_ITEMS = 2
TRACE = f"{1:032x}"
SETTINGS: dict[str, Any] = {
    "evaluators": {"short": {"type": "word-count", "config": {"max_words": 50}}},
    "rules": {"production": {"evaluators": ["no-loops", "short"]}},
    "budget": {"usd_per_day": 5},
    "alerts": {
        "quality": {
            "pass_rate": {"below": 0.9, "rule": "production"},
            "webhook": {"url": "https://hooks.example.com/services/T0"},
        }
    },
    "export": {"otlp": {"endpoint": "https://otel.example.com"}},
}
LABEL = {"trace_id": TRACE, "name": "helpful", "value": True, "author": "ana"}
EVALUATOR = {"type": "latency-budget", "config": {"budget_ms": 5000}}
RULE = {"where": "service_name = 'booking'", "evaluators": ["no-loops"], "sample": {"rate": 0.1}}
SHADOW = {"shadow": {"evaluator": "short", "candidate": {"type": "word-count", "config": {}}}}
SQL = {"sql": "SELECT kind, count(*) AS traces FROM traces GROUP BY kind", "params": []}

# operation: its request, so that those before make what those behind show
CALLS: tuple[tuple[str, str, str, Any], ...] = (
    ("healthz", "GET", "/healthz", None),
    ("readyz", "GET", "/readyz", None),
    ("list_traces", "GET", "/api/traces?limit=1", None),
    ("get_trace", "GET", f"/api/traces/{TRACE}", None),
    ("explain_trace", "GET", f"/api/traces/{TRACE}/explain", None),
    ("import_traces", "POST", "/api/traces/import", {"resourceSpans": []}),
    ("list_sessions", "GET", "/api/sessions?limit=1", None),
    ("get_session", "GET", "/api/sessions/session-1", None),
    ("explain_session", "GET", "/api/sessions/session-1/explain", None),
    ("list_results", "GET", "/api/results?limit=1", None),
    ("add_labels", "POST", "/api/labels", {"items": [LABEL]}),
    ("list_labels", "GET", "/api/labels", None),
    ("list_pass_rates", "GET", "/api/pass-rates?by=service", None),
    ("list_agreement", "GET", "/api/agreement", None),
    ("start_run", "POST", "/api/runs", {"evaluators": ["short"], "dry_run": True}),
    ("start_run", "POST", "/api/runs", {"rule": "production", "since": "7d", "rejudge": True}),
    ("list_runs", "GET", "/api/runs", None),
    ("get_run", "GET", "/api/runs/{run_id}", None),
    ("cancel_run", "DELETE", "/api/runs/{run_id}", None),
    ("get_storage", "GET", "/api/storage", None),
    ("erase", "POST", "/api/erasures", {"user_id": "user-7", "dry_run": True}),
    ("erase", "POST", "/api/erasures", {"user_id": "user-7"}),
    ("list_erasures", "GET", "/api/erasures", None),
    ("get_erasure", "GET", "/api/erasures/{id}", None),
    ("compact", "POST", "/api/compactions", {"max_pause_s": 6}),
    ("list_compactions", "GET", "/api/compactions", None),
    ("get_compaction", "GET", "/api/compactions/{id}", None),
    ("take_snapshot", "POST", "/api/snapshots", {"name": "before-upgrade"}),
    ("list_snapshots", "GET", "/api/snapshots", None),
    ("get_snapshot", "GET", "/api/snapshots/{id}", None),
    ("list_views", "GET", "/api/views", None),
    ("run_query", "POST", "/api/sql", SQL),
    ("list_evaluator_types", "GET", "/api/evaluator-types", None),
    ("list_plugins", "GET", "/api/plugins", None),
    ("list_budgets", "GET", "/api/budgets", None),
    ("list_alerts", "GET", "/api/alerts", None),
    ("test_alert", "POST", "/api/alerts/quality/test", None),
    ("get_alert", "GET", "/api/alerts/quality", None),
    ("list_exports", "GET", "/api/exports", None),
    ("list_audit", "GET", "/api/audit?limit=1", None),
    ("list_dialects", "GET", "/api/dialects", None),
    ("renormalize", "POST", "/api/renormalizations", {"since": "7d", "dry_run": True}),
    ("list_renormalizations", "GET", "/api/renormalizations", None),
    ("get_renormalization", "GET", "/api/renormalizations/{id}", None),
    ("cancel_renormalization", "DELETE", "/api/renormalizations/{id}", None),
    ("put_evaluator", "PUT", "/api/evaluators/fast", EVALUATOR),
    ("put_evaluator", "PUT", "/api/evaluators/fast", EVALUATOR),
    ("list_evaluators", "GET", "/api/evaluators", None),
    ("get_evaluator", "GET", "/api/evaluators/fast", None),
    ("put_rule", "PUT", "/api/rules/some", RULE),
    ("put_rule", "PUT", "/api/rules/some", RULE),
    ("list_rules", "GET", "/api/rules", None),
    ("get_rule", "GET", "/api/rules/some", None),
)
REFUSALS: tuple[tuple[str, str, Any, dict[str, str]], ...] = (
    ("GET", "/api/traces?cursor=page-2", None, {}),
    ("GET", "/api/traces", None, {"host": "elsewhere.example.com"}),
    ("GET", "/api/traces/4bf92f3577b34da6a3ce929d0e0e4736", None, {}),
    ("PUT", "/api/rules/production", RULE, {}),
    ("DELETE", "/api/rules/some", None, {"if-match": '"another"'}),
    ("POST", "/api/labels", {"comment": "x" * (2 << 20)}, {}),
    ("POST", "/api/traces/import", "text", {"content-type": "text/plain"}),
    ("GET", "/api/traces?limit=many", None, {}),
)


def written() -> bytes:
    """Return the file of examples as it should be."""
    found: dict[str, dict[str, Any]] = {}
    with _answering() as api:
        folder = str(Path(api.context.config.storage).parent).encode()
        known = {"run_id": "", "id": ""}
        for operation, method, path, body in CALLS:
            answer = api.http.request(method, path.format(**known), json=body)
            assert answer.is_success, (operation, answer.text)
            document = orjson.loads(answer.content.replace(folder, b"/var/lib/tracejury"))
            api.context.maintenance.step()
            known |= {name: document[name] for name in known if name in document}
            example = found.setdefault(operation, {"answers": {}})
            if body is not None and operation != "import_traces":
                example["request"] = body
            example["answers"][str(answer.status_code)] = _cut(document)
        found["problem"] = {"answers": dict(_refusals(api))}
    return orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


@contextmanager
def _answering() -> Iterator[Api]:
    """Give the API over a few traces, judged and labeled."""
    with tempfile.TemporaryDirectory() as folder, running_api(Path(folder), **SETTINGS) as api:
        api.store(*agent_run(1), *agent_run(2))
        api.finish()
        record_result(api, rule="production")
        decided = [Decided(number=1), Decided(number=2, verdict="fail")]
        api.context.db.write(lambda connection: insert_decided(connection, decided)).result(10)
        yield api


def _refusals(api: Api) -> Iterator[tuple[str, Any]]:
    for method, path, body, headers in REFUSALS:
        answer = api.http.request(method, path, json=body, headers=headers)
        yield str(answer.status_code), answer.json()
    file = Path(f"{api.context.config.storage}.locked")
    change_keys(file, lambda _: (new_key("ci", ["read"], datetime.now(UTC)).key,))
    locked = dataclasses.replace(api.context, keys=KeyRing(file))
    answer = TestClient(create_app(locked), base_url=str(api.http.base_url)).get("/readyz")
    yield str(answer.status_code), answer.json()
    starting = dataclasses.replace(api.context, ready=lambda: False)
    answer = TestClient(create_app(starting), base_url=str(api.http.base_url)).get("/readyz")
    yield str(answer.status_code), answer.json()


def _cut(value: Any) -> Any:
    """Return a document with its lists cut to what an example needs."""
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    return [_cut(item) for item in value[:SHOWN_ITEMS]] if isinstance(value, list) else value


if __name__ == "__main__":
    FILE.write_bytes(written())
