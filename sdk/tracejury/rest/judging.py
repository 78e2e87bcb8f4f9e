"""What decided and judged: results, decisions, types of evaluators."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tracejury.rest.base import Document


class Result(Document):
    """One evaluator's outcome on one revision of a trace or session.

    `trace_id` is "" for a session; its `target_id` is its project, a slash, and its id.
    """

    evaluator: str
    type: str
    outcome: Literal["score", "skip", "failure"]
    score: float | None = None
    verdict: Literal["pass", "partial", "fail"] | None = None
    reason: str = ""
    target_kind: Literal["trace", "session"] = "trace"
    target_id: str = ""
    trace_id: str
    revision: int
    rule: str = ""
    run_id: str = ""
    trigger: str = ""
    hits: list[str] = []
    misses: list[str] = []
    details: Any = None
    evidence: list[str] = []
    error_type: str | None = None
    error_message: str | None = None
    duration_ms: float | None = None
    cost_usd: float | None = None
    created_at: str
    superseded: bool = False


class Decision(Document):
    """What one rule decided on one revision of a trace or session, and why."""

    decision_id: str
    rule: str
    revision: int
    outcome: str
    reason: str = ""
    stratum: str | None = None
    probability: float | None = None
    sampled_by: Literal["trace", "session"] | None = None
    upstream_probability: float = 1.0
    evaluators: list[str] = []
    run_id: str = ""
    run_state: str | None = Field(default=None, description="of its run; null for live decisions")
    decided_at: str


class EvaluatorType(Document):
    """A type of evaluator; the schemas are JSON Schema of its config and of a case's criteria."""

    type: str
    label: str
    description: str = ""
    config_schema: dict[str, Any] = {}
    criteria_schema: dict[str, Any] = {}
    builtin: bool
    origin: Literal["built_in", "entry_point", "module", "file"] = "built_in"
    plugin: str | None = Field(default=None, description="the plugin that brought it")
