"""Plugins are imported in processes of their own, whatever they do there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.helpers.jury import wait_until
from tests.helpers.otlp import make_span, request_of, to_json
from tests.helpers.service import FAST, RunningService, eventually, running_service
from tracejury_collector.config import Config, parse_config
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.describe import describe

GREETS = """
from tracejury import Trace, evaluator

@evaluator("greets", timeout_s=9)
def greets(trace: Trace, *, name: str = "") -> bool:
    "Passes if the answer greets."
    return f"Hello {name}" in trace.output_text
"""


def config(**settings: object) -> Config:
    return parse_config({"plugins": ["./checks.py"], **settings})


def write(folder: Path, source: str) -> None:
    (folder / "checks.py").write_text(source, encoding="utf-8")


def test_a_plugin_is_described_without_being_imported_here(tmp_path: Path) -> None:
    write(tmp_path, f"import sys\nsys.argv.append('imported')\n{GREETS}")
    named = {"hello": {"type": "greets", "config": {"name": "Ann"}}}
    before = set(sys.modules)
    catalog = describe(config(evaluators=named), tmp_path)
    row = catalog.types[-1]
    assert (row.type, row.builtin, row.origin) == ("greets", False, "plugin './checks.py'")
    assert row.description == "Passes if the answer greets."
    assert row.config_schema["properties"]["name"]["type"] == "string"
    assert row.plugin
    assert row.plugin.target == str(tmp_path / "checks.py")
    seat = catalog.roster(config(evaluators=named))["hello"]
    assert (seat.type, seat.config, seat.timeout_s) == ("greets", {"name": "Ann"}, 9)
    assert "imported" not in sys.argv
    assert not [name for name in set(sys.modules) - before if name.startswith("checks_")]


@pytest.mark.parametrize(
    "source",
    [
        "print('x' * 10_000_000)\nimport sys\nsys.stderr.write('y' * 10_000_000)\n",
        "import os\nos.write(1, b'x' * 1_000_000)\nos.write(2, b'y' * 1_000_000)\n",
        "import atexit, time\natexit.register(time.sleep, 600)\n",
        "import threading, time\nthreading.Thread(target=time.sleep, args=[600]).start()\n",
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; "
        "time.sleep(612)'])\n",
        "import os, sys\nos.chdir('/')\nsys.setrecursionlimit(200)\nsys.stdout = None\n",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n",
    ],
    ids=["prints", "writes", "exit-handler", "thread", "child", "changes", "signals"],
)
def test_what_a_plugin_does_at_import_disturbs_nobody(tmp_path: Path, source: str) -> None:
    write(tmp_path, source + GREETS)
    assert describe(config(), tmp_path).types[-1].type == "greets"
    wait_until(lambda: not _sleepers())


def _sleepers() -> list[psutil.Process]:
    alive = psutil.process_iter(["cmdline", "status"])
    here = [p for p in alive if p.info["status"] != psutil.STATUS_ZOMBIE]
    return [p for p in here if "time.sleep(612)" in " ".join(p.info["cmdline"] or [])]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise ValueError('no')", "it cannot be imported: ValueError: no (line 1); mend"),
        ("raise SystemExit(3)", "it cannot be imported: SystemExit: 3 (line 1); mend"),
        ("import os\nos._exit(3)", "importing it ended the process (exit code 3); leave what it"),
        ("import os\nos.kill(os.getpid(), 9)", "importing it ended the process (signal 9); leave"),
        ("import os\nos.closerange(3, 99)", "importing it ended the process ("),
        ("x = [bytes(1 << 28) for _ in range(99)]", "it cannot be imported: MemoryError: "),
        ("def f(): return f()\nf()", "it cannot be imported: RecursionError: maximum recursion"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_one_sentence(
    tmp_path: Path, source: str, message: str
) -> None:
    write(tmp_path, source)
    with pytest.raises(ConfigError) as raised:
        describe(config(), tmp_path)
    assert str(raised.value).startswith(f"plugin './checks.py': {message}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "source", ["while True: pass", "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')"]
)
def test_a_plugin_that_never_ends_is_named(tmp_path: Path, source: str) -> None:
    write(tmp_path, source)
    with pytest.raises(ConfigError) as raised:
        describe(config(), tmp_path, limit_s=10)
    message = "plugin './checks.py': importing it took longer than 10 s; leave what it does"
    assert str(raised.value).startswith(message)


def test_what_a_plugin_says_of_itself_is_bounded(tmp_path: Path) -> None:
    field = "Annotated[int, Field(json_schema_extra={'example': 'x' * (20 << 20)})]"
    lines = [
        "from typing import Annotated",
        "from pydantic import Field",
        "from tracejury import Trace, evaluator",
        "@evaluator('long')",
        f"def long(trace: Trace, *, number: {field} = 1) -> bool:",
        "    return True",
    ]
    write(tmp_path, "\n".join(lines))
    with pytest.raises(ConfigError, match="take over 16 MiB to describe"):
        describe(config(), tmp_path)


def test_a_config_that_the_plugin_refuses_names_the_evaluator(tmp_path: Path) -> None:
    write(tmp_path, GREETS)
    cases: list[tuple[dict[str, object], str]] = [
        ({"config": {"nam": "Ann"}}, "config.nam: unknown field; did you mean 'name'?"),
        ({"criteria": {"a": 1}}, "criteria.a: unknown field; it takes no fields"),
    ]
    for given, words in cases:
        with pytest.raises(ConfigError) as raised:
            describe(config(evaluators={"hello": {"type": "greets", **given}}), tmp_path)
        assert str(raised.value).startswith("evaluators.hello: ")
        assert words in str(raised.value)


def test_a_service_judges_by_a_file_beside_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("WORDS = ['Hello']\n")
    source = "from words import WORDS\n" + GREETS.replace("Hello", "{WORDS[0]}")
    (tmp_path / "checks.py").write_text(source)
    (tmp_path / "one.py").write_text(GREETS.replace('"greets"', '"other"'))
    settings = """
plugins: [./checks.py]
evaluators:
  hello: {type: greets, config: {name: Ann}}
  typed: {type: "file://one.py:greets", config: {name: Bob}}
rules: {default: {evaluators: [hello, typed, no-loops]}}
"""
    with running_service(tmp_path, FAST + settings) as service:
        assert [row["type"] for row in service.get("/api/plugins")["items"]] == [
            "greets",
            "file://one.py:greets",
        ]
        send(service, "Hello Ann")
        found = judged(service, 3)
        assert found["hello"][:2] == ["score", "pass"]
        assert found["typed"][:2] == ["score", "fail"]
        assert found["no-loops"][0] == "skip"


HANGS_IN_THE_JURY = """
import os, sys, time
from tracejury import Trace, evaluator
if "describing" not in " ".join(sys.orig_argv):
    {act}

@evaluator("two-faced")
def two_faced(trace: Trace) -> bool:
    return True
"""


@pytest.mark.parametrize(
    ("act", "error_type"),
    [
        ("time.sleep(600)", "timeout"),
        pytest.param("os._exit(3)", "abandoned", marks=pytest.mark.slow),
        ("raise KeyboardInterrupt", "DefinitionError"),
    ],
)
def test_a_plugin_that_fails_only_in_the_jury_harms_its_own_evaluators_alone(
    tmp_path: Path, act: str, error_type: str
) -> None:
    (tmp_path / "checks.py").write_text(HANGS_IN_THE_JURY.replace("{act}", act))
    settings = """
jury: {timeout: 1s}
plugins: [./checks.py]
evaluators: {bad: {type: two-faced}}
rules: {default: {evaluators: [bad, no-loops, non-empty-output]}}
"""
    with running_service(tmp_path, FAST + settings) as service:
        send(service, "Hello")
        found = judged(service, 3)
        assert found["bad"] == ["failure", None, error_type]
        assert found["non-empty-output"][:2] == ["score", "pass"]


def test_a_file_that_changes_while_the_service_runs_judges_no_more(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text(GREETS)
    settings = """
plugins: [./checks.py]
evaluators: {hello: {type: greets}}
rules: {default: {evaluators: [hello, non-empty-output]}}
"""
    with running_service(tmp_path, FAST + settings) as service:
        (tmp_path / "checks.py").write_text(GREETS + "# changed\n")
        send(service, "Hello")
        found = judged(service, 2)
        assert found["hello"] == ["failure", None, "DefinitionError"]
        assert found["non-empty-output"][0] == "score"


def send(service: RunningService, answer: str) -> None:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.output.messages": json.dumps(said),
    }
    document = to_json(request_of(make_span()))
    document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"] = [
        {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
    ]
    response = service.client.post(f"{service.api}/api/traces/import", json=document)
    assert response.status_code == 200, response.text


def judged(service: RunningService, count: int) -> dict[str, list[Any]]:
    """Return outcome, verdict and error type by evaluator, once there are so many."""
    query = "SELECT evaluator, outcome, verdict, error_type FROM scores"
    eventually(lambda: len(service.sql(query)) == count, "it is judged", log=service.log)
    return {row[0]: row[1:] for row in service.sql(query)}
