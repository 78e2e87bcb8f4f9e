"""Sessions judged as a whole by a running service: real exports, a real jury."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.trace import Tracer

from tests.e2e.test_sessions import finished, tracer_of, turn
from tests.helpers.service import RunningService, eventually, running_service

CONFIG = """
completion: {after_root: 300ms, idle: 1s, session_idle: 1500ms, tick: 50ms}
evaluators:
  turns: {type: llm-call-budget, config: {max_llm_calls: 2}}
rules:
  whole: {target: session, evaluators: [turns]}
"""
SCORES = (
    "SELECT revision, verdict, superseded FROM scores_history "
    "WHERE target_kind = 'session' AND target_id = 'default/chat' ORDER BY ALL"
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("judged"), CONFIG) as running:
        yield running


@pytest.fixture(scope="module")
def tracer(service: RunningService) -> Iterator[Tracer]:
    yield from tracer_of(service)


def test_a_session_is_judged_as_a_whole_and_again_when_it_goes_on(
    service: RunningService, tracer: Tracer
) -> None:
    named = {"session.id": "chat"}

    def judged(*expected: list[object]) -> None:
        eventually(lambda: service.sql(SCORES) == list(expected), "it is judged", log=service.log)

    finished(service, turn(tracer, root=named), turn(tracer, root=named))
    judged([1, "pass", False])
    finished(service, turn(tracer, root=named))
    judged([1, "pass", True], [2, "fail", False])
    story = service.get("/api/sessions/chat/explain")
    assert story["status"] == "complete"
    assert any(line.startswith("  turns: fail") for line in story["lines"])
