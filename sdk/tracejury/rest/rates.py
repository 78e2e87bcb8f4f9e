"""Pass rates of the traffic, and how evaluators agree with labels."""

from __future__ import annotations

from pydantic import Field

from tracejury.rest.base import Document, Page
from tracejury.rest.runs import ShareEstimate


class Part(Document):
    """Some of what was not sampled out."""

    count: int
    share: float


class Excluded(Part):
    """What has no verdict, in all and by reason: skipped, failed, pending, over_budget, …"""

    reasons: dict[str, Part] = {}


class PassRate(Document):
    """The pass rate of one evaluator, in one version, under one rule.

    Of project, service, model, agent and bucket (where the time bucket begins) those are set that
    were asked for. The rate and its interval are null where nothing was judged.
    """

    rule: str
    evaluator: str | None = None
    project: str | None = None
    service: str | None = None
    model: str | None = None
    agent: str | None = None
    bucket: str | None = None
    fingerprint: str | None = None
    criteria_hash: str | None = None
    pass_rate: float | None = None
    low: float | None = None
    high: float | None = None
    mean_score: float | None = None
    judged: int
    passed: int
    effective_n: float | None = None
    traffic: float
    sampled_out: int
    excluded: Excluded
    first_decided_at: str
    last_decided_at: str


class PassRates(Page[PassRate]):
    """Pass rates; `truncated` says that there are more than are shown."""

    truncated: bool = False


class Confusion(Document):
    """How many targets each pair of verdicts has; found is what was judged not to pass."""

    rightly_found: int
    wrongly_found: int
    missed: int
    rightly_passed: int


class CorrectedRate(Document):
    """The pass rate under one rule, as judged, and as labels say that it is.

    `corrected` is null where the labels do not tell; `reason` says what is missing.
    """

    rule: str
    judged: ShareEstimate
    corrected: ShareEstimate | None = None
    reason: str = ""


class Agreement(Document):
    """How one version of an evaluator agrees with the labels of one name.

    Precision and recall are about finding what does not pass. Null where nothing can be said.
    """

    evaluator: str
    fingerprint: str
    criteria_hash: str = ""
    label: str
    n: int
    confusion: Confusion
    agreed: ShareEstimate | None = None
    precision: ShareEstimate | None = None
    recall: ShareEstimate | None = None
    kappa: float | None = None
    pass_rates: list[CorrectedRate] = []
    differing: list[str] = Field(default=[], description="trace ids, at most 100")
    differing_count: int = 0
