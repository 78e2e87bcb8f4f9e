"""No process of the service holds a secret of the environment that it has no need of."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.otlp import make_span, request_of, to_json
from tests.helpers.service import FAST, RunningService, eventually, running_service

SECRETS = {
    "OPENAI_API_KEY": "sk-cafe-of-judges",
    "PLUGIN_TOKEN": "tok-cafe-of-plugins",
    "DATABASE_URL": "postgres://cafe:of-nobody@host",
}
ARENA_BYTES = 256 << 20
SEES = """
import os
from tracejury import Score, Trace, evaluator

@evaluator("sees")
def sees(trace: Trace) -> Score:
    "Tells which variables it finds."
    return Score(1.0, details={"names": sorted(os.environ)})
"""
CONFIG = f"""{FAST}
plugins: [./sees.py]
jury: {{env: [PLUGIN_TOKEN]}}
evaluators: {{sees: {{type: sees}}}}
rules: {{all: {{evaluators: [sees]}}}}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("environment")
    (folder / "sees.py").write_text(SEES)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SECRETS.items():
            patch.setenv(name, value)
        with running_service(folder, CONFIG) as running:
            yield running


def test_the_process_table_shows_no_secret(service: RunningService) -> None:
    assert len(service.children()) >= 4
    for name, child in service.children().items():
        seen = Path(f"/proc/{child.pid}/environ").read_text()
        assert not [secret for secret, text in SECRETS.items() if text in seen], name


def test_what_judges_is_no_fork_of_what_knows_the_database(service: RunningService) -> None:
    forks = {n: c for n, c in service.children().items() if c.cmdline()[0] == "tracejury"}
    assert {"store", "receiver-1", "jury-1", "judge-1"} <= set(forks)
    maps = {name: Path(f"/proc/{fork.pid}/maps").read_text() for name, fork in forks.items()}
    assert "duckdb" in maps["store"]
    assert not [name for name in ("jury-1", "judge-1") if "duckdb" in maps[name]]


def test_an_evaluator_finds_what_was_named_and_no_other_secret(service: RunningService) -> None:
    body = to_json(request_of(make_span()))
    answer = service.client.post(f"{service.otlp_http}/v1/traces", json=body)
    assert answer.status_code == 200
    eventually(lambda: service.get("/api/results")["items"], "it is judged", log=service.log)
    (result,) = service.get("/api/results")["items"]
    assert set(SECRETS) & set(result["details"]["names"]) == {"PLUGIN_TOKEN"}


@pytest.mark.parametrize(
    ("name", "known"),
    [("receiver-1", set()), ("assembler", set()), ("jury-1", {"PLUGIN_TOKEN"})],
)
def test_the_memory_holds_no_secret_of_others(
    service: RunningService, name: str, known: set[str]
) -> None:
    found: set[str] = set()
    for piece in _memory_of(service.children()[name].pid):
        found |= {secret for secret, text in SECRETS.items() if text.encode() in piece}
    assert found == known


def _memory_of(pid: int) -> Iterator[bytes]:
    """Yield what a process may write to, mapping by mapping, but for arenas of Arrow alone."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            if " rw-p " in line:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if end - start > ARENA_BYTES:
                    continue
                with contextlib.suppress(OSError):
                    yield os.pread(memory.fileno(), end - start, start)
