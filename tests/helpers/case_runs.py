"""How the case of an evaluator is judged: most by the evaluator alone, some need a world around."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.helpers.cases import Case, trace_of
from tests.helpers.databases import open_database
from tests.helpers.endpoint import endpoint
from tests.helpers.judges import judging_by, serve_judge
from tests.helpers.revisions import put
from tracejury.evaluator import run_evaluator
from tracejury.result import Outcome
from tracejury_collector.store.sqljudging import check_judging
from tracejury_collector.store.sqljudging import judge as judge_by_query
from tracejury_evaluators import judge
from tracejury_evaluators.registry import Registry
from tracejury_evaluators.sql import Sql


def outcome_of(case: Case, registry: Registry) -> Outcome:
    """What the evaluator says of the case."""
    return RUNS.get(case.type, _alone)(case, registry)


def _alone(case: Case, registry: Registry) -> Outcome:
    evaluator = registry.build(case.type, case.config)
    return run_evaluator(evaluator, trace_of(case.trace), case.criteria)


def _with_an_endpoint(case: Case, registry: Registry) -> Outcome:
    """`{endpoint}` in the config is a server that answers as the URL's query asks."""
    with endpoint() as server:
        text = json.dumps(case.config).replace("{endpoint}", server.url)
        config: Mapping[str, Any] = json.loads(text)
        evaluator = registry.build(case.type, config)
        return run_evaluator(evaluator, trace_of(case.trace), case.criteria)


def _with_a_judge(case: Case, registry: Registry) -> Outcome:
    """The case's `model` is what the model answers, all of it, and `asked` what it was told."""
    with serve_judge(case.model) as model, judging_by(model):
        outcome = _alone(case, registry)
    assert model.script == [], "the model was asked less often than the case says"
    told = "\n".join(model.prompts)
    missing = [part for part in case.expect.get("asked", []) if part not in told]
    assert not missing, f"the model was not told {missing}, but: {told}"
    return outcome


def _in_a_store(case: Case, registry: Registry) -> Outcome:
    """The trace stands in a database, alone, and the query is asked there."""
    evaluator = registry.build(case.type, case.config)
    assert isinstance(evaluator, Sql)
    check_judging(evaluator)
    trace = trace_of(case.trace)
    target = (trace.trace_id, trace.revision)
    with TemporaryDirectory() as folder, open_database(Path(folder) / "t.duckdb") as db:
        put(db, trace)
        return judge_by_query(db, evaluator, [target], 30.0)[target]


RUNS: Mapping[str, Callable[[Case, Registry], Outcome]] = {
    "webhook": _with_an_endpoint,
    "sql": _in_a_store,
    **dict.fromkeys([evaluator.type for evaluator in judge.EVALUATORS], _with_a_judge),
}
