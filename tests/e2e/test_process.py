"""Scripts as evaluators: what they see, what holds them, and that nothing outlives them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.helpers.jury import room, wait_until
from tests.helpers.node import installed_project
from tests.helpers.worker import bench, root
from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.result import Failure, Outcome, Score
from tracejury.testing import make_tool_call, make_trace
from tracejury_evaluators.process.script import Process
from tracejury_evaluators.process.webhook import Webhook
from tracejury_evaluators.registry import built_in_registry

RUN = """
import json, sys
from tracejury.evaluator import run_evaluator
from tracejury.testing import make_trace
from tracejury_evaluators.process import Process
run_evaluator(Process(script=json.loads(sys.argv[1]), timeout=600), make_trace())
"""
SPREADS = """
import os, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
for n in range(3):
    if os.fork() == 0:
        if n:
            os.setsid()
        if n == 2 and os.fork():
            os._exit(0)
        (folder / f"{n}.pid").write_text(str(os.getpid()))
        time.sleep(600)
        os._exit(0)
while len(list(folder.glob("*.pid"))) < 3:
    time.sleep(0.01)
"""


def judged(script: str | list[str], **config: Any) -> Outcome:
    return run_evaluator(Process(script=script, **config), make_trace())


def in_python(*lines: str) -> list[str]:
    return [sys.executable, "-c", "\n".join(("import json, sys", *lines))]


def spread(folder: Path, then: str) -> list[str]:
    """A script that leaves a child, one in a session of its own, and a daemon."""
    return [sys.executable, "-c", f"{SPREADS}\n{then}", str(folder)]


def left(folder: Path) -> list[int]:
    """Which of the processes that a script has spread are still there."""
    pids = [int(path.read_text() or "0") for path in folder.glob("*.pid")]
    return [pid for pid in pids if pid and psutil.pid_exists(pid)]


def has_spread(folder: Path) -> Callable[[], bool]:
    return lambda: len(left(folder)) == 3


def is_alone(folder: Path) -> Callable[[], bool]:
    return lambda: not left(folder)


def test_what_a_script_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    outcome = judged(spread(tmp_path, "print('{\"score\": 1}')"))
    assert isinstance(outcome, Score)
    assert len(list(tmp_path.glob("*.pid"))) == 3
    assert left(tmp_path) == []


def test_what_a_script_has_started_ends_with_its_time(tmp_path: Path) -> None:
    outcome = judged(spread(tmp_path, "time.sleep(600)"), timeout=3)
    assert isinstance(outcome, Failure)
    assert outcome.error_type == "timeout"
    assert len(list(tmp_path.glob("*.pid"))) == 3
    assert left(tmp_path) == []


def test_a_script_ends_when_the_process_that_runs_it_is_killed(tmp_path: Path) -> None:
    script = json.dumps(spread(tmp_path, "time.sleep(600)"))
    runner = subprocess.Popen([sys.executable, "-c", RUN, script])
    try:
        wait_until(has_spread(tmp_path))
    finally:
        runner.kill()
        runner.wait()
    wait_until(is_alone(tmp_path))


def test_a_script_ends_with_the_jury_process_that_runs_it(tmp_path: Path) -> None:
    folder = tmp_path / "pids"
    folder.mkdir()
    script = spread(folder, "time.sleep(600)")
    config = {"script": script, "timeout": 600, "requires_output": False}
    settings = {
        "jury": {"timeout": "60s"},
        "evaluators": {"slow": {"type": "process", "config": config}},
        "rules": {"default": {"evaluators": ["slow"]}},
    }
    with bench(tmp_path, settings) as store:
        store.spans(root(1))
        store.clock.advance(4)
        store.worker.tick()
        with room(store, tmp_path, processes=0, judges=1) as jury:
            wait_until(has_spread(folder))
            first = left(folder)
            assert jury.kill_one()
            wait_until(lambda: not set(first) & set(left(folder)))
    wait_until(is_alone(folder))


def test_a_script_may_run_longer_than_the_jury_lets_others() -> None:
    assert Process(script="ls", timeout=300).timeout_s > 300
    assert Webhook(url="https://a.example", timeout=300).timeout_s > 300


def test_a_killed_guard_is_told_as_such() -> None:
    kills_its_parent = in_python("import os, time", "os.kill(os.getppid(), 9)", "time.sleep(600)")
    outcome = judged(kills_its_parent, timeout=2)
    assert isinstance(outcome, Failure)
    assert outcome.error_type in ("ScriptFailed", "timeout")


def test_a_script_sees_no_variables_but_the_plain_and_the_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("CHECK_LEVEL", "3")
    script = in_python(
        "import os", "print(json.dumps({'score': 1, 'details': {'seen': sorted(os.environ)}}))"
    )
    outcome = judged(script, env=["CHECK_LEVEL", "NOT_SET"])
    assert isinstance(outcome, Score)
    seen = set(outcome.details["seen"]) - {"LC_CTYPE"}  # Python itself sets it
    assert seen <= {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "CHECK_LEVEL"}
    assert {"PATH", "CHECK_LEVEL"} <= seen


def test_a_large_run_and_many_words_do_not_lock_up() -> None:
    trace = make_trace(output="x" * 1_500_000)
    shouts = in_python(
        "sys.stderr.write('e' * 3_000_000 + 'end of it')",
        "sys.stdout.write(' ' * 900_000)",
        "sys.stdout.flush()",
        "size = len(json.load(sys.stdin)['candidate_answer'])",
        "print(json.dumps({'score': 1, 'details': {'size': size}}))",
    )
    outcome = run_evaluator(Process(script=shouts), trace)
    assert isinstance(outcome, Score)
    assert outcome.details == {"size": 1_500_000}


def test_a_script_that_does_not_read_may_still_judge() -> None:
    trace = make_trace(output="x" * 1_500_000)
    outcome = run_evaluator(Process(script=in_python("print('{\"score\": 1}')")), trace)
    assert isinstance(outcome, Score)


def test_only_the_end_of_standard_error_is_told() -> None:
    outcome = judged(
        in_python("sys.stderr.write('e' * 3_000_000 + '\\nlast words')", "sys.exit(5)")
    )
    assert isinstance(outcome, Failure)
    assert outcome.message.endswith("standard error ends: last words")
    assert len(outcome.traceback) <= 2_000


def test_a_child_that_holds_the_pipes_does_not_hold_the_verdict() -> None:
    started_s = time.monotonic()
    script = ["sh", "-c", "sleep 600 & echo '{\"score\": 1}'"]
    assert isinstance(judged(script, timeout=300), Score)
    assert time.monotonic() - started_s < 300


def test_the_command_runs_in_its_folder(tmp_path: Path) -> None:
    check = tmp_path / "check"
    check.write_text("#!/bin/sh\ncat > /dev/null\necho '{\"score\": 1}'\n")
    check.chmod(0o755)
    assert isinstance(judged("./check", cwd=str(tmp_path)), Score)


def test_a_program_of_no_known_kind_is_told_with_the_remedy(tmp_path: Path) -> None:
    check = tmp_path / "check.py"
    check.write_text("print('no first line that names an interpreter')\n")
    check.chmod(0o755)
    outcome = judged("./check.py", cwd=str(tmp_path))
    assert isinstance(outcome, Failure)
    assert "Exec format error" in outcome.message
    assert "name its interpreter first" in outcome.message


def test_an_edited_script_is_another_evaluator(tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text("first")
    evaluator = Process(script="python3 check.py", cwd=str(tmp_path))
    before = evaluator.fingerprint()
    assert evaluator.fingerprint() == before
    script.write_text("second")
    assert evaluator.fingerprint() != before
    script.unlink()
    assert len(evaluator.fingerprint()) == 16


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"script": ""}, "the script names no program"),
        ({"script": []}, "the script names no program"),
        ({"script": "python3 'check.py"}, "cannot be split into words: No closing quotation"),
        ({"script": ["ls", "a\0b"]}, "a command holds no NUL characters"),
        ({"script": "ls", "env": ["A=B"]}, "env.0"),
        ({}, "script: this field is required"),
    ],
)
def test_a_command_that_can_never_run_is_refused_at_the_start(
    config: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        built_in_registry().build("process", config)


TYPESCRIPT = """
interface Verdict { score: number; hits: string[]; misses: string[]; reasoning: string }
const chunks: Buffer[] = [];
for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
const run = JSON.parse(Buffer.concat(chunks).toString('utf8'));
const tools: string[] = run.output_messages.flatMap(
  (message: { tool_calls: { tool: string }[] }) => message.tool_calls.map((call) => call.tool),
);
const missing = ['search', 'book'].filter((tool) => !tools.includes(tool));
const verdict: Verdict = {
  score: 1 - missing.length / 2,
  hits: tools,
  misses: missing.map((tool) => `never called ${tool}`),
  reasoning: `${run.trace_summary.event_count} events`,
};
console.log(JSON.stringify(verdict, null, 2));
"""
SDK = """
import { readFileSync } from 'node:fs';
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
export function readCodeJudgePayload() {
  const fields = Object.entries(JSON.parse(readFileSync(0, 'utf8')));
  return Object.fromEntries(fields.map(([name, value]) => [camel(name), value]));
}
"""
WITH_SDK = """
import { readCodeJudgePayload } from '@agentv/core';
const { candidateAnswer, expectedOutcome } = readCodeJudgePayload();
const met: boolean = candidateAnswer.includes(expectedOutcome);
console.log(JSON.stringify({ score: met ? 1 : 0, reasoning: `wanted ${expectedOutcome}` }));
"""


def project(folder: Path) -> Path:
    """A folder with a TypeScript loader, and with a package that reads payloads."""
    sdk = folder / "node_modules" / "@agentv" / "core"
    sdk.mkdir(parents=True)
    (sdk / "package.json").write_text('{"name": "@agentv/core", "type": "module", "main": "m.js"}')
    (sdk / "m.js").write_text(SDK)
    (folder / "node_modules" / ".bin").symlink_to(installed_project("ts") / "node_modules" / ".bin")
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    return folder


def test_a_typescript_script_runs_through_a_loader(tmp_path: Path) -> None:
    (project(tmp_path) / "check.ts").write_text(TYPESCRIPT)
    evaluator = Process(script="npx --yes tsx ./check.ts", cwd=str(tmp_path), timeout=60)
    outcome = run_evaluator(evaluator, make_trace(tool_calls=[make_tool_call("search")]))
    assert isinstance(outcome, Score), outcome
    assert (outcome.value, outcome.hits, outcome.misses, outcome.reason) == (
        0.5,
        ("search",),
        ("never called book",),
        "1 events",
    )


def test_a_typescript_script_may_read_its_input_through_a_package(tmp_path: Path) -> None:
    (project(tmp_path) / "check.ts").write_text(WITH_SDK)
    evaluator = Process(script="npx --yes tsx ./check.ts", cwd=str(tmp_path), timeout=60)
    outcome = run_evaluator(evaluator, make_trace(), {"expected_outcome": "18 degrees"})
    assert isinstance(outcome, Score), outcome
    assert (outcome.verdict, outcome.reason) == ("pass", "wanted 18 degrees")
