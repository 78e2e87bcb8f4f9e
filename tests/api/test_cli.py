"""The command line against a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from tests.helpers.acme import DIALECT, write_run
from tests.helpers.api import Api, agent_run
from tests.helpers.docs import DOCS
from tests.helpers.otlp import make_span, request_of, to_json
from tracejury.cli import app

COMMANDS = [
    "serve",
    "demo",
    "traces",
    "sessions",
    "explain",
    "evaluators",
    "evaluate",
    "add evaluator",
    "register evaluator",
    "runs",
    "definitions",
    "define rule",
    "define evaluator",
    "undefine rule",
    "undefine evaluator",
    "budgets",
    "pass-rates",
    "agreement",
    "label",
    "labels",
    "unlabel",
    "sql",
    "import",
    "dialects",
    "renormalize",
    "mcp",
    "doctor",
    "alerts",
    "exports",
    "audit",
    "keys create",
    "keys list",
    "keys revoke",
    "storage",
    "erase",
    "compact",
    "snapshot",
    "export",
]
NOBODY = "http://127.0.0.1:9"
TRACE = f"{1:032x}"


def run(*args: str, **options: Any) -> Result:
    return CliRunner(env={"COLUMNS": "80", "TRACEJURY_URL": ""}).invoke(app, args, **options)


@pytest.fixture
def finished(api: Api) -> Api:
    """One finished trace, one open."""
    api.store(*agent_run(1))
    api.finish()
    api.store(*agent_run(2, ended=False))
    return api


def test_traces_are_listed_in_80_columns(finished: Api, url: str) -> None:
    result = run("traces", "--url", url)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [TRACE in line for line in lines] == [False, False, True]
    assert "planner" in lines[2]
    assert "open" in lines[1]


def test_a_wide_list_tells_the_kind_of_each_trace(finished: Api, url: str) -> None:
    wide = CliRunner(env={"COLUMNS": "120", "TRACEJURY_URL": ""})
    heading, _, done = wide.invoke(app, ["traces", "--url", url]).stdout.splitlines()
    assert heading.split()[3] == "kind"
    assert "agent" in done.split()


def test_json_is_one_document_on_stdout_and_nothing_else(finished: Api, url: str) -> None:
    for command in (
        ["traces"],
        ["sessions"],
        ["sessions", "session-1"],
        ["explain", TRACE],
        ["sql", "SELECT trace_id FROM traces"],
        ["doctor"],
    ):
        result = run(*command, "--json", "--url", url)
        assert json.loads(result.stdout), command


def test_the_cursor_of_one_page_gives_the_next(finished: Api, url: str) -> None:
    first = json.loads(run("traces", "--limit", "1", "--json", "--url", url).stdout)
    cursor = first["next_cursor"]
    second = json.loads(run("traces", "--cursor", cursor, "--json", "--url", url).stdout)
    assert [item["trace_id"] for item in second["items"]] == [TRACE]


def test_sessions_are_listed_in_80_columns(finished: Api, url: str) -> None:
    result = run("sessions", "--url", url)
    assert result.exit_code == 0, result.output
    heading, session = result.stdout.splitlines()
    assert heading.split() == ["session", "age", "runs", "tools", "tokens", "cost", "state"]
    assert session.startswith("session-1 ")
    assert "no sessions" in run("sessions", "--service", "nobody", "--url", url).stdout


def test_a_session_is_shown_with_its_totals_and_traces(finished: Api, url: str) -> None:
    finished.store(*agent_run(3))
    finished.finish()
    result = run("sessions", "session-1", "--limit", "1", "--url", url)
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["runs", "2"] in lines
    assert ["calls", "0", "of", "models,", "2", "of", "tools"] in lines
    assert "1 earlier not shown" in result.stdout
    assert f"{3:032x}" in result.stdout
    assert TRACE not in result.stdout


def test_explain_prints_the_story(finished: Api, url: str) -> None:
    result = run("explain", TRACE, "--url", url)
    assert result.exit_code == 0
    assert "rule 'default' on revision 1: selected" in result.stdout


def test_sql_points_at_what_is_wrong_with_a_query(finished: Api, url: str) -> None:
    result = run("sql", "SELECT name,\n\tnmae FROM tool_calls", "--url", url)
    assert result.exit_code == 2
    message, *excerpt = result.stderr.splitlines()
    assert "line 2, character 2" in message
    assert 'Candidate bindings: "name"' in message
    assert excerpt == ["   nmae FROM tool_calls", "   ^"]


def test_sql_prints_a_table_and_reads_from_stdin(finished: Api, url: str) -> None:
    result = run("sql", "-", "--url", url, input="SELECT name, source FROM tool_calls")
    assert result.exit_code == 0, result.output
    assert "search" in result.stdout
    assert "1 row in" in result.stdout


def test_the_address_comes_from_the_environment_too(finished: Api, url: str) -> None:
    result = CliRunner(env={"TRACEJURY_URL": url}).invoke(app, ["traces", "--json"])
    assert len(json.loads(result.stdout)["items"]) == 2


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep journals of imports out of the home of who runs the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_files_are_imported_and_counted(api: Api, url: str, tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    documents = [json.dumps(to_json(request_of(make_span(n)))) for n in (1, 2, 3)]
    lines.write_text("\n".join(documents))
    binary = tmp_path / "b.pb"
    binary.write_bytes(request_of(make_span(3), make_span(4)).SerializeToString())
    result = run("import", str(lines), str(binary), "--json", "--url", url)
    assert result.exit_code == 0, result.output
    files = json.loads(result.stdout)["files"]
    assert files[str(lines)]["stored"] == 3
    assert (files[str(binary)]["stored"], files[str(binary)]["duplicate"]) == (1, 1)
    assert "received" in run("import", str(lines), "--url", url).stdout


def test_hostile_names_cannot_steer_the_terminal(api: Api, url: str) -> None:
    hostile = "\\u001b[2J\\u001b]0;x\\u0007\\u202e"
    root, _ = agent_run(1)
    root["attributes"] = (
        f'{{"gen_ai.operation.name":"invoke_agent","gen_ai.agent.name":"{hostile}",'
        f'"session.id":"{hostile}"}}'
    )
    api.store(root)
    api.finish()
    outputs = [
        run("traces", "--url", url),
        run("traces", "--json", "--url", url),
        run("sessions", "--url", url),
        run("sessions", "\x1b[2J\x1b]0;x\x07\u202e", "--url", url),
        run("sessions", "--json", "--url", url),
        run("sql", "SELECT agent_name FROM traces", "--url", url),
        run("sql", "SELECT agent_name FROM traces", "--json", "--url", url),
    ]
    for result in outputs:
        assert result.exit_code == 0, result.output
        assert not any(c in result.output for c in "\x1b\x07\u202e")
    assert "\\x1b[2J" in outputs[0].stdout


@pytest.mark.parametrize(
    "command",
    [
        ["traces"],
        ["sessions"],
        ["sessions", "x"],
        ["explain", TRACE],
        ["sql", "SELECT 1"],
        ["import", __file__],
    ],
)
def test_a_service_that_cannot_be_reached_is_3_and_one_line_with_the_remedy(
    command: list[str],
) -> None:
    result = run(*command, "--url", NOBODY)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "tracejury serve" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["explain", "f" * 32], "no trace has the id"),
        (["sessions", "no/such"], "no finished trace is of the session"),
        (["sessions", "x", "--since", "1h"], "--since chooses among sessions"),
        (["sessions", "--where", "trace_id = 'x'"], "trace_id"),
        (["sql", "DROP TABLE spans"], "only SELECT is allowed"),
        (["traces", "--where", "no_such_column"], "no_such_column"),
        (["traces", "--since", "yesterday"], "since"),
        (["traces", "--limit", "0"], "limit"),
        (["traces", "--no-such-option"], "no-such-option"),
        (["explain"], "TRACE"),
        (["import", "/no/such/file"], "/no/such/file"),
        (["import", __file__], __file__),
    ],
)
def test_wrong_use_is_2_and_says_what_is_wrong(url: str, command: list[str], said: str) -> None:
    result = run(*command, "--url", url)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr.replace("\n", "")
    assert "Traceback" not in result.stderr


class _OtherServer(BaseHTTPRequestHandler):
    """Answers everything with a page, as another service on the port would."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>hello</html>")

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""


def test_what_answers_and_is_no_tracejury_is_said() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _OtherServer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        result = run("traces", "--url", f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
        thread.join()
    assert result.exit_code == 3
    assert "is not a Tracejury service" in result.stderr
    assert result.stderr.count("\n") == 1


def test_without_the_extra_serve_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tracejury_collector.service", None)
    monkeypatch.setitem(sys.modules, "tracejury_collector.demo", None)
    for command, extra in (("serve", "server"), ("demo", "demo")):
        result = run(command)
        assert result.exit_code == 2
        assert f"pip install 'tracejury[{extra}]'" in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_configuration_that_cannot_be_used_is_2(tmp_path: Path) -> None:
    config = tmp_path / "tracejury.yaml"
    config.write_text("lisen: {}\n")
    done = subprocess.run(
        [sys.executable, "-m", "tracejury", "serve", "--config", str(config)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "listen" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"tracejury {command}" in result.stdout.split("Example:")[1]


def test_the_commands_of_the_service_are_found_by_entry_point() -> None:
    names = {entry.name for entry in entry_points(group="tracejury.services")}
    assert {"serve", "demo", "doctor", "evaluators", "evaluate"} <= names


def command_names(group: Typer = app, above: str = "") -> list[str]:
    """The commands of a group and of the groups in it."""
    own = [f"{above}{c.name or (c.callback and c.callback.__name__)}" for c in
           group.registered_commands]  # fmt: skip
    for inner in group.registered_groups:
        assert inner.typer_instance
        own += command_names(inner.typer_instance, f"{above}{inner.name} ")
    return own


def test_every_command_and_option_stands_in_the_documentation() -> None:
    text = (DOCS / "cli.md").read_text("utf-8")
    assert sorted(command_names()) == sorted(COMMANDS)
    missing = [c for c in COMMANDS if f"## tracejury {c}\n" not in text]
    assert missing == []
    for command in COMMANDS:
        section = text.split(f"## tracejury {command}\n")[1].split("\n## ")[0]
        examples = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
        assert f"tracejury {command}" in "".join(examples), command
        options = {
            word.strip(",")
            for word in run(*command.split(), "--help").stdout.split()
            if word.startswith("--") and word.strip(",") != "--help"
        }
        assert [o for o in sorted(options) if f"`{o}" not in section] == [], command


def test_doctor_finds_what_is_wrong_and_says_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "tracejury.yaml"
    config.write_text("rules: {x: {evaluators: [no-such-evaluator]}}\n")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    result = run("doctor", "--config", str(config), "--url", NOBODY)
    assert result.exit_code == 1
    assert "no-such-evaluator" in result.stdout
    assert "unset OTEL_SDK_DISABLED" in result.stdout
    assert result.stdout.count(NOBODY) == 1
    checks = json.loads(run("doctor", "--config", str(config), "--json", "--url", NOBODY).stdout)
    states = {check["name"]: check["state"] for check in checks["checks"]}
    assert states["configuration"] == "failed"
    assert states["exporter"] == "warning"
    assert states["python"] == "ok"
    assert states["extra server"] == "ok"


def test_doctor_refuses_an_evaluator_that_the_service_would_refuse(tmp_path: Path) -> None:
    config = tmp_path / "tracejury.yaml"
    config.write_text("evaluators: {right: {type: llm-rubric, config: {rubric: is kind}}}\n")
    result = run("doctor", "--config", str(config), "--url", NOBODY)
    assert result.exit_code == 1
    assert "evaluators.right: evaluator llm-rubric: config.rubric" in result.stdout


def test_doctor_names_the_port_that_is_taken(api: Api, url: str, tmp_path: Path) -> None:
    port = url.rpartition(":")[2]
    config = tmp_path / "tracejury.yaml"
    config.write_text(
        f"listen: {{grpc: '127.0.0.1:{port}', otlp_http: '127.0.0.1:0', api: '127.0.0.1:0'}}\n"
        f"storage: {tmp_path / 'no-such-directory' / 'x.duckdb'}\n"
    )
    found = json.loads(run("doctor", "--config", str(config), "--json", "--url", NOBODY).stdout)
    checks = {check["name"]: check for check in found["checks"]}
    assert checks["listen.grpc"]["state"] == "failed"
    assert "another process" in checks["listen.grpc"]["detail"]
    assert checks["listen.otlp_http"]["state"] == "ok"
    assert checks["storage"]["state"] == "failed"


def test_secrets_in_exporter_addresses_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hunter2@collector:4318")
    result = run("doctor", "--url", NOBODY)
    assert "collector:4318" in result.stdout
    assert "hunter2" not in result.stdout
    assert os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]


def test_dialects_lists_what_was_seen_and_what_is_unread(
    api: Api, url: str, tmp_path: Path
) -> None:
    assert "no spans yet" in run("dialects", "--url", url).stdout
    assert run("import", str(write_run(tmp_path / "run.json")), "--url", url).exit_code == 0
    api.store(*({**row, "dialect": "otel_genai"} for row in agent_run(1)))
    text = run("dialects", "--url", url).stdout
    assert "otel_genai" in text
    assert "crewai" not in text
    assert "acme.question  acme.tracing.core  2 spans" in text
    assert all(len(line) <= 80 for line in text.splitlines()[:4])
    assert "crewai" in run("dialects", "--all", "--url", url).stdout
    found = json.loads(run("dialects", "--limit", "1", "--json", "--url", url).stdout)
    assert len(found["unread"]) == 1
    assert found["unread_count"] > 1
    doctor = json.loads(run("doctor", "--json", "--url", url).stdout)["checks"]
    (check,) = (check for check in doctor if check["name"] == "dialects")
    assert check["state"] == "warning"
    assert f"{found['unread_count']} attributes look like GenAI content" in check["detail"]


def test_a_dialect_is_tried_on_the_spans_of_the_service(api: Api, url: str, tmp_path: Path) -> None:
    run("import", str(write_run(tmp_path / "run.json")), "--url", url)
    result = run("doctor", "--dialects", str(DIALECT), "--json", "--url", url)
    assert result.exit_code == 0, result.output
    trial = json.loads(result.stdout)["trial"]
    assert (trial["spans"], trial["recognized"]) == (5, 5)
    assert [f["place"] for f in trial["findings"] if not f["hits"]] == [
        "kinds[1]",
        "event_kinds[0]",
    ]
    few = run("doctor", "--dialects", str(DIALECT), "--records", "2", "--json", "--url", url)
    assert json.loads(few.stdout)["trial"]["spans"] == 2
