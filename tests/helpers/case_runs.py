"""How the case of an evaluator is judged: most by the evaluator alone, some need a world around."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.helpers.cases import Case, trace_of
from tests.helpers.endpoint import endpoint
from tracejury.evaluator import run_evaluator
from tracejury.result import Outcome
from tracejury_evaluators.registry import Registry


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


RUNS: Mapping[str, Callable[[Case, Registry], Outcome]] = {"webhook": _with_an_endpoint}
