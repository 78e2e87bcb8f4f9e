"""Runs: judging of history on demand."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracejury.rest.base import Document

RunState = Literal["running", "done", "canceled", "failed"]


class RunEvaluator(Document):
    """What one evaluator does in a run; cost and tokens are null where nothing was told."""

    name: str
    type: str
    fingerprint: str = Field(description="the version that judges in this run")
    to_judge: int = Field(default=0, description="judgements decided on so far")
    judged_already: int = Field(default=0, description="left out: made before by this version")
    scores: int = 0
    skips: int = 0
    failures: int = 0
    passed: int = 0
    not_passed: int = Field(default=0, description="verdicts partial and fail")
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class RunCounts(Document):
    """What a run decided so far."""

    examined: int = Field(
        default=0, description="traces, or sessions, of its range that were looked at"
    )
    targets: int = Field(default=0, description="of these, those for which `where` holds")
    judged_already: int = Field(
        default=0, description="of the selected ones, those that every evaluator had judged"
    )
    outcomes: dict[str, int] = Field(
        default={}, description="decisions by outcome: selected, filtered, sampled_out, …"
    )


class ShareEstimate(Document):
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float


class ChangedVerdict(Document):
    """A revision on which an evaluator and the candidate for its place gave other verdicts."""

    trace_id: str
    revision: int
    verdict: str
    candidate_verdict: str
    score: float | None = None
    candidate_score: float | None = None
    reason: str = ""
    candidate_reason: str = ""


class Comparison(Document):
    """How a candidate does by the evaluator whose place it might take, on the same revisions.

    `agreed` and `kappa` are over pass and not pass; `changed` holds every other verdict, the first
    1000 of `changed_count`. `only_*` count revisions that one scored and the other did not.
    """

    evaluator: str
    candidate: str
    compared: int
    agreed: ShareEstimate | None = None
    kappa: float | None = None
    both_passed: int = 0
    neither_passed: int = 0
    only_evaluator_passed: int = 0
    only_candidate_passed: int = 0
    without_verdict: int = 0
    only_evaluator_scored: int = 0
    only_candidate_scored: int = 0
    mean_score: float | None = None
    candidate_mean_score: float | None = None
    changed_count: int = 0
    changed: list[ChangedVerdict] = []


class Run(Document):
    """A run: what was asked for, how far it is, and what came of it.

    `progress` goes from 0 to 1. `total` traces, or sessions (`target`), lie in its range; newer
    ones are not looked at.
    """

    run_id: str
    state: RunState
    waiting: str = Field(default="", description="why it does not go on now")
    error: str = ""
    rule: str = Field(default="", description='the rule that decides, "" for evaluators alone')
    target: Literal["trace", "session"] = Field(default="trace", description="what it judges")
    where: str = "true"
    trace_ids: int | None = Field(default=None, description="how many traces were named")
    since: str | None = None
    until: str | None = None
    rate: float = 1.0
    rejudge: bool = False
    created_at: str
    finished_at: str | None = None
    progress: float = 0.0
    total: int = 0
    counts: RunCounts
    to_judge: int = 0
    judged: int = 0
    cost_usd: float | None = None
    evaluators: list[RunEvaluator] = []
    comparison: Comparison | None = Field(
        default=None, description="what a shadow run found; not in lists and events"
    )


class EvaluatorEstimate(Document):
    """What an evaluator would do; null is unknown.

    `basis` says where the cost is from: `free` evaluators cost nothing, others are estimated from
    the newest judgements of the `same_version`, or of a `former_version`; or nothing is known.
    """

    name: str
    type: str
    fingerprint: str
    to_judge: int
    judged_already: int
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    basis: Literal["free", "same_version", "former_version", "unknown"]
    samples: int = 0


class RunEstimate(Document):
    """What a run would do and cost, nothing of it done.

    Where looking at `total` traces took too long, `complete` is false: `counts` are of the newest,
    and what the evaluators would do is scaled up from them.
    """

    dry_run: bool = True
    rule: str = ""
    target: Literal["trace", "session"] = "trace"
    total: int
    complete: bool
    counts: RunCounts
    to_judge: int
    cost_usd: float | None = None
    evaluators: list[EvaluatorEstimate] = []
