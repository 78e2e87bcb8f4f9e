"""Every built-in type keeps the protocol that authors are held to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.helpers.cases import CASES, Case, load_cases
from tests.helpers.judges import MODEL, ScriptedJudge, serve_judge
from tracejury.testing import check_evaluator
from tracejury_evaluators.registry import built_in_registry

REGISTRY = built_in_registry()
NEEDS_A_SERVER = ("webhook",)
TYPES = [row.type for row in REGISTRY.types() if row.type not in NEEDS_A_SERVER]
MOST = 4
MOST_OF_JUDGES = 1
_FINGERPRINTS = """
import json, sys
from tracejury_evaluators.registry import built_in_registry
registry = built_in_registry()
built = [registry.build(name, config) for name, config in json.load(sys.stdin)]
print(json.dumps([evaluator.fingerprint() for evaluator in built]))
"""


@pytest.fixture(scope="module", autouse=True)
def judge() -> Iterator[ScriptedJudge]:
    """A model to ask; this process and those below find it in the environment."""
    with serve_judge() as scripted, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEJURY_JUDGE_MODEL", MODEL)
        patch.setenv("TRACEJURY_JUDGE_BASE_URL", f"{scripted.url}/v1")
        yield scripted


def scored(type_name: str) -> list[Case]:
    """The first cases of a type that end in a score, each with a config and criteria that fit."""
    cases = load_cases(CASES / f"{type_name}.json")
    fit = [case for case in cases if case.expect.get("outcome", "score") == "score"]
    return fit[: MOST_OF_JUDGES if fit[0].model else MOST]


@pytest.mark.parametrize("type_name", TYPES)
def test_a_built_in_type_keeps_the_protocol(type_name: str, judge: ScriptedJudge) -> None:
    for case in scored(type_name):
        judge.forever = case.model[-1] if case.model else {}
        built = REGISTRY.build(type_name, case.config)
        check_evaluator(built, criteria=case.criteria or None, in_another_process=False)


def test_fingerprints_of_built_in_types_do_not_depend_on_how_a_process_hashes() -> None:
    specs = [(case.type, dict(case.config)) for name in TYPES for case in scored(name)]
    here = [REGISTRY.build(name, config).fingerprint() for name, config in specs]
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", _FINGERPRINTS],
            input=json.dumps(specs),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert json.loads(done.stdout) == here
