"""The API keeps to its own description: valid requests, broken ones, and chains of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.helpers.api import agent_run, record_result, running_api, served
from tests.helpers.api_examples import SETTINGS

CONFIG = Path(__file__).parents[1] / "data" / "schemathesis.toml"
CASES = 1000
"""Most requests that are made up for an operation in the long run."""
OPERATION_S = 900
"""Longer than a thousand requests to one operation take on a slow machine."""
CHAINS = 200


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An API over a few judged traces whose event streams end at once."""
    with running_api(tmp_path_factory.mktemp("fuzzed"), **SETTINGS) as api:
        api.store(*agent_run(1), *agent_run(2, service="billing"))
        api.finish()
        record_result(api, rule="production")
        with served(api, follows=False) as address:
            yield address


def fuzz(url: str, folder: Path, *options: str) -> tuple[int, str]:
    """Return with which code schemathesis ends, and what it says."""
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run"]
    command += [
        f"{url}/openapi.json",
        "--no-color",
        "--warnings",
        "off",
        "--request-timeout",
        "60",
        *options,
    ]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=OPERATION_S
    )
    return done.returncode, f"{done.stdout[-20_000:]}\n{done.stderr[-5_000:]}"


def counted(report: str, what: str) -> int:
    """Return how many operations or test cases there were."""
    found = re.search(what, report)
    assert found, report
    return int(found[1].replace(",", ""))


def operations(url: str) -> list[str]:
    """Return the id of every operation that is described."""
    document = httpx.get(f"{url}/openapi.json", timeout=60).json()
    paths = document["paths"].values()
    return [operation["operationId"] for path in paths for operation in path.values()]


def test_a_few_requests_to_every_operation_are_answered_as_described(
    url: str, tmp_path: Path
) -> None:
    code, report = fuzz(
        url, tmp_path, "--phases=examples,fuzzing", "--max-examples=1", "--no-shrink"
    )
    assert code == 0, report
    assert counted(report, r"Tested: (\d+)") > 40


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_a_thousand_requests_to_every_operation_are_answered_as_described(
    url: str, tmp_path: Path
) -> None:
    found = operations(url)
    assert len(found) > 40
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = list(filter(None, pool.map(partial(faults_of, url, tmp_path), found)))
    assert not faults, "\n\n".join(faults)


def faults_of(url: str, folder: Path, operation: str) -> str:
    """Return what schemathesis finds at one operation, if anything; says how far it went.

    What covers the schema runs apart: after it, some operations got a few made up requests only.
    """
    options = [f"--max-examples={CASES}", "--no-shrink", "--continue-on-failure"]
    options += [f"--include-operation-id={operation}"]
    began_s = time.monotonic()
    faults, cases = [], 0
    for phases in ("examples,coverage", "fuzzing"):
        try:
            code, report = fuzz(url, folder, f"--phases={phases}", *options)
        except subprocess.TimeoutExpired:
            return f"{operation}: no end within {OPERATION_S} s"
        cases += counted(report, r"([\d,]+) generated")
        faults += [report] if code else []
    took_s = time.monotonic() - began_s
    print(f"{operation}: {cases} cases in {took_s:.0f} s, {len(faults)} faults", flush=True)  # noqa: T201
    return "\n".join(faults)


@pytest.mark.slow
@pytest.mark.timeout(OPERATION_S + 60)
def test_chains_of_requests_are_answered_as_described(url: str, tmp_path: Path) -> None:
    code, report = fuzz(
        url, tmp_path, "--phases=stateful", f"--max-examples={CHAINS}", "--continue-on-failure"
    )
    assert code == 0, report
