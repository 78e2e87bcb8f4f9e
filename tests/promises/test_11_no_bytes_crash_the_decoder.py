"""Promise 11: whatever bytes come, the decoder answers or says what is wrong with them.

What was found once is kept in tests/data/fuzz, and tried each time.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.promises.fuzzing import try_one

ROOT = Path(__file__).parents[2]
CORPUS = sorted((ROOT / "tests" / "data" / "fuzz").iterdir())
SECONDS = int(os.environ.get("TRACEJURY_FUZZ_S", "30"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_an_input_that_is_kept_is_decoded_or_refused(path: Path) -> None:
    try_one(path.read_bytes())


@pytest.mark.timeout(SECONDS + 120)
def test_a_fuzzer_finds_nothing(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed here: pip install 'tracejury[fuzz]'")
    corpus = tmp_path / "corpus"
    shutil.copytree(ROOT / "tests" / "data" / "fuzz", corpus)
    command = [sys.executable, "-m", "tests.promises.fuzzing", str(corpus), str(SECONDS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    findings = {path.name: path.read_bytes()[:500] for path in corpus.glob("finding-*")}
    assert (done.returncode, findings) == (0, {}), done.stderr[-4000:]
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    assert runs
    assert int(runs[1]) > SECONDS
    print(f"{runs[1]} inputs in {SECONDS} s")  # noqa: T201
