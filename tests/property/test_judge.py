"""What judges are told of traces of any shape: always a text that can be sent, always fenced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property.test_evaluators import TRACES
from tracejury.trace import Trace
from tracejury_evaluators.endpoint import JudgeEndpoint, use_endpoint
from tracejury_evaluators.judge import EVALUATORS
from tracejury_evaluators.judge.base import LLMEvaluator


@pytest.fixture(scope="module", autouse=True)
def _judge() -> Iterator[None]:
    use_endpoint(JudgeEndpoint(model="openai:gpt-5-mini", api_key="none"))
    yield
    use_endpoint(None)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(trace=TRACES, kind=st.sampled_from(EVALUATORS))
def test_any_trace_can_be_told(trace: Trace, kind: type[LLMEvaluator[Any]]) -> None:
    evaluator = kind()
    criteria = kind.criteria_type()()
    question = evaluator._question(trace, criteria, evaluator._case(criteria))
    question.prompt.encode("utf-8")
    fence = re.search("<data-([0-9a-f]{16}) NAME>", question.instructions)
    assert fence
    opened = question.prompt.count(f"<data-{fence[1]} ")
    assert opened == question.prompt.count(f"</data-{fence[1]}>") > 0
