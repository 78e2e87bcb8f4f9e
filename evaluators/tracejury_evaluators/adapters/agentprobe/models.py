"""AgentProbe's models: what its evaluators are given, and what they answer.

Source: agentprobe-framework 1.1.0. Every field has a default but those that name the thing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from tracejury_evaluators.adapters.lacking import MayLack


class EvalVerdict(StrEnum):
    """What an evaluator found; ERROR where it broke."""

    PASS = "pass"
    FAIL = "fail"
    PARTIAL = "partial"
    ERROR = "error"


class PluginType(StrEnum):
    """What a plugin provides."""

    EVALUATOR = "evaluator"
    ADAPTER = "adapter"
    REPORTER = "reporter"
    STORAGE = "storage"


class TurnType(StrEnum):
    """What happened in a turn."""

    LLM_CALL = "llm_call"
    TOOL_CALL = "tool_call"
    USER_MESSAGE = "user_message"
    AGENT_MESSAGE = "agent_message"


def _new_id() -> str:
    return str(uuid4())


def _now() -> datetime:
    return datetime.now(UTC)


class LLMCall(BaseModel):
    """One call of a model; counts are 0 where nothing was recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    call_id: str = Field(default_factory=_new_id)
    model: str = ""
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    input_text: str = ""
    output_text: str = ""
    latency_ms: int = Field(default=0, ge=0)
    metadata: dict[str, Any] = Field(default_factory=dict)
    timestamp: datetime = Field(default_factory=_now)


class ToolCall(BaseModel):
    """One tool call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    call_id: str = Field(default_factory=_new_id)
    tool_name: str
    tool_input: dict[str, Any] = Field(default_factory=dict)
    tool_output: Any = None
    success: bool = True
    error: str | None = None
    latency_ms: int = Field(default=0, ge=0)
    timestamp: datetime = Field(default_factory=_now)


class Turn(BaseModel):
    """One event of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    turn_id: str = Field(default_factory=_new_id)
    turn_type: TurnType
    content: str = ""
    llm_call: LLMCall | None = None
    tool_call: ToolCall | None = None
    timestamp: datetime = Field(default_factory=_now)


class Trace(MayLack):
    """What one run of an agent did."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trace_id: str = Field(default_factory=_new_id)
    agent_name: str = ""
    model: str | None = None
    input_text: str = ""
    output_text: str = ""
    turns: tuple[Turn, ...] = ()
    llm_calls: tuple[LLMCall, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    total_input_tokens: int = Field(default=0, ge=0)
    total_output_tokens: int = Field(default=0, ge=0)
    total_latency_ms: int = Field(default=0, ge=0)
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: datetime = Field(default_factory=_now)


class TestCase(BaseModel):
    """What was asked, and what is expected."""

    __test__: ClassVar[bool] = False  # pytest takes classes of this name for tests

    model_config = ConfigDict(extra="forbid")

    test_id: str = Field(default_factory=_new_id)
    name: str = "test-case"
    description: str = ""
    input_text: str = ""
    expected_output: str | None = None
    tags: list[str] = Field(default_factory=list)
    timeout_seconds: float = Field(default=30.0, gt=0)
    evaluators: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)


class EvalResult(BaseModel):
    """What an evaluator answers; `duration_ms` is set by `BaseEvaluator.evaluate`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    eval_id: str = Field(default_factory=_new_id)
    evaluator_name: str
    verdict: EvalVerdict
    score: float = Field(ge=0.0, le=1.0)
    reason: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: datetime = Field(default_factory=_now)
    duration_ms: float | None = None
