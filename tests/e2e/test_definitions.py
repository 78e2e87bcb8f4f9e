"""Rules and evaluators changed while real exports arrive, and processes are killed in between."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import format_trace_id
from typer.testing import CliRunner

from tests.helpers.judges import KEY, Received, ScriptedJudge, serve_judge
from tests.helpers.service import FAST, RunningService, eventually, kill, running_service
from tracejury.cli import app

PLUGIN = """
from tracejury import Trace, evaluator

@evaluator("greets")
def greets(trace: Trace, *, name: str = "") -> bool:
    "Passes if the answer greets."
    return f"Hello {name}" in trace.output_text
"""
CONFIG = """
plugins: [./checks.py]
jury: {timeout: 120}
evaluators: {ours: {type: latency-budget, config: {budget_ms: 5000}}}
rules: {steady: {evaluators: [ours]}}
"""
SAID = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Hello Ann."}]}])
RUN = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "helper",
    "gen_ai.output.messages": SAID,
}
KIND, BRIEF = "Is it kind?", "Is it brief?"
SELECTED = "SELECT target_id FROM decisions WHERE rule = 'live' AND outcome = 'selected'"
JUDGED = "SELECT trace_id FROM scores_history WHERE evaluator = 'good'"
SCORES = "SELECT trace_id, score FROM scores WHERE evaluator = 'good'"
DECIDED_TWICE = "SELECT rule, target_id FROM decisions GROUP BY ALL HAVING count(*) > 1"
JUDGED_TWICE = f"{JUDGED} GROUP BY ALL HAVING count(*) > 1"
HISTORY = (
    "SELECT name FROM definitions WHERE name IN ('good', 'live') AND deleted_at IS NOT NULL "
    "ORDER BY effective_from, name"
)
BY_VERSION = (
    "SELECT DISTINCT rule_fingerprint, fingerprint, outcome, score FROM scores_history "
    "WHERE evaluator = 'good'"
)


class Noted(SpanExporter):
    """A real exporter; `taken` holds the traces that the service acknowledged, in order."""

    def __init__(self, exporter: SpanExporter) -> None:
        self.taken: list[str] = []
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export, and note what was taken."""
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.taken += [format_trace_id(s.context.trace_id) for s in spans if s.context]
        return result

    def shutdown(self) -> None:
        """Close the exporter."""
        self._exporter.shutdown()


class Agent:
    """Runs that are exported as they end."""

    def __init__(self, service: RunningService) -> None:
        self.exporter = Noted(OTLPSpanExporter(f"{service.otlp_http}/v1/traces", timeout=5))
        self.provider = TracerProvider(resource=Resource.create({"service.name": "booking"}))
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._tracer = self.provider.get_tracer("tests")

    def run(self) -> str:
        """Export one run of an agent; return its trace id."""
        with self._tracer.start_as_current_span("invoke_agent", attributes=RUN) as root:
            pass
        return format_trace_id(root.get_span_context().trace_id)

    def delivered(self) -> str:
        """Export runs until the service acknowledges one; return its trace id."""
        found = ""
        while found not in self.exporter.taken:
            found = self.run()
        return found


@contextmanager
def busy(agent: Agent) -> Iterator[None]:
    """Keep the agent at work in a thread of its own."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.2):
            agent.run()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def held_judge(answers: threading.Event) -> Iterator[ScriptedJudge]:
    """A judge that finds everything kind and nothing brief, and answers while the event is set."""

    def rule(asked: Received) -> Mapping[str, Any]:
        answers.wait(90)
        score = 1.0 if KIND in asked.text else 0.0
        return {"score": score, "verdict": "pass" if score else "fail", "reasoning": "as asked"}

    with serve_judge() as judge:
        judge.answering = rule
        try:
            yield judge
        finally:
            answers.set()


@pytest.fixture(scope="module")
def answers() -> threading.Event:
    """The judge answers while this is set."""
    event = threading.Event()
    event.set()
    return event


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, answers: threading.Event
) -> Iterator[RunningService]:
    """A service with a rule and an evaluator in its file, a plugin, and a judge."""
    folder = tmp_path_factory.mktemp("definitions")
    (folder / "checks.py").write_text(PLUGIN, encoding="utf-8")
    with held_judge(answers) as judge, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_KEY", KEY)
        asks = (
            f"judge: {{model: 'openai:gpt-4o-mini', base_url: '{judge.url}/v1', "
            "api_key: '${MY_KEY}', concurrency: 2}\n"
        )
        with running_service(folder, FAST + CONFIG + asks) as running:
            yield running


def soon(service: RunningService, condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds, as long as a busy machine may take."""
    eventually(condition, what, timeout_s=60, log=service.log)


def cli(service: RunningService, *args: str, code: int = 0, body: object = None) -> Any:
    """Run a command against the service; return its JSON, or what it says on stderr."""
    runner = CliRunner(env={"TRACEJURY_URL": service.api})
    text = None if body is None else json.dumps(body)
    done = runner.invoke(app, [*args, "--json"], input=text)
    assert done.exit_code == code, done.output
    return done.stderr if code else json.loads(done.stdout)


def put(service: RunningService, path: str, body: object, status: int, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = service.client.put(f"{service.api}/api/{path}", json=body, headers=named)
    assert answer.status_code == status, answer.text
    return answer.json()


def judge_of(question: str) -> dict[str, Any]:
    return {"type": "llm-judge", "config": {"success_criteria": question}}


def traces(service: RunningService, sql: str) -> set[str]:
    return {trace for (trace,) in service.sql(sql)}


def waits(service: RunningService, trace_id: str) -> bool:
    """Say whether a trace is selected by the live rule and not judged yet."""
    return trace_id in traces(service, SELECTED) - traces(service, JUDGED)


@pytest.mark.timeout(120)
def test_a_plugins_type_is_defined_and_the_files_definitions_stay(service: RunningService) -> None:
    agent = Agent(service)
    with busy(agent):
        for path, body in (
            ("rules/steady", {"evaluators": ["no-loops"]}),
            ("evaluators/ours", {"type": "greets"}),
        ):
            assert "configuration file" in put(service, path, body, 409)["detail"]
        said = cli(service, "define", "rule", "steady", "-", code=2, body={"evaluators": ["a"]})
        assert "configuration file" in said
        wrong = {"type": "greets", "config": {"nam": "Ann"}}
        refused = put(service, "evaluators/hello", wrong, 422)
        assert refused["errors"][0]["field"].startswith("config.nam")
        assert "did you mean 'name'" in str(refused)
        for name in ("Ann", "Bob"):
            put(service, f"evaluators/{name}", {"type": "greets", "config": {"name": name}}, 201)
        both = {"type": "composite", "config": {"members": ["Ann", "Bob"]}}
        put(service, "evaluators/both", both, 201)
        cli(
            service,
            "define",
            "rule",
            "polite",
            "-",
            body={"evaluators": ["Ann", "Bob", "both"]},
        )
        trace_id = agent.delivered()
        of_trace = f"SELECT evaluator, verdict FROM scores WHERE trace_id = '{trace_id}'"
        soon(service, lambda: len(service.sql(of_trace)) == 4, "all judge it")
        found = dict(service.sql(of_trace))
    agent.provider.shutdown()
    assert (found["ours"], found["Ann"], found["Bob"]) == ("pass", "pass", "fail")
    assert found["both"] in {"partial", "fail"}
    assert "polite" in {item["name"] for item in cli(service, "definitions", "rule")["items"]}


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_what_was_selected_is_judged_by_its_version_whatever_changes_and_is_killed(
    service: RunningService, answers: threading.Event
) -> None:
    agent = Agent(service)
    with busy(agent):
        early = agent.delivered()
        soon(
            service,
            lambda: early in traces(service, "SELECT target_id FROM decisions"),
            "what came before the rule is decided",
        )
        kind = cli(service, "define", "evaluator", "good", "-", body=judge_of(KIND))
        rule = cli(service, "define", "rule", "live", "-", body={"evaluators": ["good"]})
        versions = {rule["fingerprint"]: (kind["fingerprint"], 1.0)}
        first = agent.delivered()
        soon(service, lambda: first in traces(service, JUDGED), "it is judged")

        answers.clear()
        former = agent.delivered()
        soon(service, lambda: waits(service, former), "it waits")
        tag = f'"{kind["version"]}"'
        brief = put(service, "evaluators/good", judge_of(BRIEF), 200, if_match=tag)
        rule = service.get("/api/rules/live")
        versions[rule["fingerprint"]] = (brief["fingerprint"], 0.0)
        kill(service, "store")
        soon(service, service.is_ready, "ready after its store died")
        assert service.get("/api/evaluators/good") == brief
        put(service, "evaluators/good", judge_of(KIND), 412, if_match=tag)

        later = agent.delivered()
        soon(service, lambda: waits(service, later), "it waits too")
        service.process.terminate()
        service.restart()
        soon(service, service.is_ready, "ready after a restart")
        assert service.get("/api/rules/live") == rule

        cli(service, "undefine", "rule", "live")
        cli(service, "undefine", "evaluator", "good")
        last = agent.delivered()
        assert waits(service, former), "the version that judges it is gone by now"
        answers.set()
    agent.provider.shutdown()
    soon(
        service,
        lambda: traces(service, SELECTED) <= traces(service, JUDGED),
        "all that was selected is judged",
    )
    soon(
        service,
        lambda: (
            set(agent.exporter.taken)
            <= traces(service, "SELECT target_id FROM decisions WHERE rule = 'steady'")
        ),
        "every trace is decided",
    )
    judged = dict(service.sql(SCORES))
    assert (judged[first], judged[former], judged[later]) == (1.0, 1.0, 0.0)
    assert {early, last}.isdisjoint(judged)
    assert sorted(service.sql(BY_VERSION)) == sorted(
        [decided, version, "score", score] for decided, (version, score) in versions.items()
    )
    assert (service.sql(DECIDED_TWICE), service.sql(JUDGED_TWICE)) == ([], [])
    names = [name for (name,) in service.sql(HISTORY)]
    assert names == ["good", "live", "good", "live"]
