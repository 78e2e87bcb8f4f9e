"""The evaluator of whether retrieval found anything."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import counted
from tracejury_evaluators.retrieval.retrievals import recorded_retrievals


class NonEmptyRetrieval(Evaluator):
    """Passes if every retrieval gave at least `min_documents` documents.

    The value is the share of retrievals that did; one that failed gave none. A retrieval whose
    documents were not recorded is left out. Skipped where the trace has no retrieval, and where
    none of them was recorded.
    """

    type: ClassVar[str] = "non-empty-retrieval"
    label: ClassVar[str] = "Non-empty retrieval"

    min_documents: int = Field(default=1, ge=1, description="fewest documents that pass")

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        retrievals = recorded_retrievals(trace)
        if isinstance(retrievals, Skip):
            return retrievals
        poor = [one for one in retrievals if len(one.documents) < self.min_documents]
        told = counted(len(retrievals), "retrieval")
        wanted = counted(self.min_documents, "document")
        if not poor:
            reason = f"{told}, each with at least {wanted}"
        else:
            reason = f"{len(poor)} of {told} gave fewer than {wanted}"
        return Score(
            1 - len(poor) / len(retrievals),
            reason=reason,
            misses=[counted(len(one.documents), "document") for one in poor],
            details={"documents": [len(one.documents) for one in retrievals]},
            evidence=[one.span_id for one in poor if one.span_id],
        )
