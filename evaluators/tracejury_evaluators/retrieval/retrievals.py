"""The retrievals of a trace: each with its documents in order of rank."""

from __future__ import annotations

from dataclasses import dataclass

from tracejury.result import Skip
from tracejury.trace import Document, Trace

KINDS = ("retriever", "reranker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One retrieval or reranking; `recorded` is False where its documents may not be known."""

    span_id: str
    documents: tuple[Document, ...]
    recorded: bool


def recorded_retrievals(trace: Trace) -> list[Retrieval] | Skip:
    """The retrievals whose documents are known, in order of start, or why there are none."""
    retrievals = _retrievals(trace)
    if not retrievals:
        return Skip("the trace has no retrieval")
    recorded = [retrieval for retrieval in retrievals if retrieval.recorded]
    if recorded:
        return recorded
    if trace.flags.not_captured:
        return Skip("the retrieved documents were not captured")
    return Skip("what was retrieved was not recorded")


def _retrievals(trace: Trace) -> list[Retrieval]:
    """Every retrieval: a span of its kind, or any other span that gave documents."""
    documents: dict[str, list[Document]] = {}
    for document in trace.documents:
        documents.setdefault(document.span_id, []).append(document)
    spans = {span.span_id: span for span in trace.spans if span.kind in KINDS}
    found = []
    for span_id in dict.fromkeys([*spans, *documents]):
        span, given = spans.get(span_id), tuple(documents.get(span_id, ()))
        told = span is not None and (span.output is not None or span.error is not None)
        found.append(Retrieval(span_id=span_id, documents=given, recorded=bool(given) or told))
    return found
