"""The API keeps to its own description: valid requests, broken ones, and chains of them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.api import agent_run, record_result, running_api, served
from tests.helpers.api_examples import SETTINGS

CONFIG = Path(__file__).parents[1] / "data" / "schemathesis.toml"
CASES = 1000
"""Most requests that are made up for an operation in the long run."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An API over a few judged traces whose event streams end at once."""
    with running_api(tmp_path_factory.mktemp("fuzzed"), **SETTINGS) as api:
        api.store(*agent_run(1), *agent_run(2, service="billing"))
        api.finish()
        record_result(api, rule="production")
        with served(api, follows=False) as address:
            yield address


def fuzz(url: str, folder: Path, *options: str) -> str:
    """Return what schemathesis says; it must find nothing."""
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run"]
    command += [f"{url}/openapi.json", "--no-color", "--warnings", "off", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-20_000:]}\n{done.stderr[-5_000:]}"
    return done.stdout


def operations_of(report: str) -> int:
    """Return how many operations were tested."""
    found = re.search(r"Tested: (\d+)", report)
    assert found, report
    return int(found[1])


def test_a_few_requests_to_every_operation_are_answered_as_described(
    url: str, tmp_path: Path
) -> None:
    report = fuzz(url, tmp_path, "--phases=examples,fuzzing", "--max-examples=1", "--no-shrink")
    assert operations_of(report) > 40


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_thousand_requests_to_every_operation_are_answered_as_described(
    url: str, tmp_path: Path
) -> None:
    phases = "--phases=examples,coverage,fuzzing,stateful"
    report = fuzz(url, tmp_path, phases, f"--max-examples={CASES}", "--continue-on-failure")
    assert operations_of(report) > 40
