"""Which facts of which dialect the tests recover, from recorded exports and hand-made spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from tests.helpers.corpus import CORPUS, case_names, read_case
from tests.helpers.dialect_cases import dialect_cases, reading_of
from tracejury.assemble import assemble
from tracejury.trace import LogRecord, SpanRecord
from tracejury.view import trace_to_api

FACTS: Final = (
    "messages",
    "tool arguments",
    "tool output",
    "tokens",
    "cost",
    "session",
    "user",
    "documents",
)
# Instrumentations that other libraries write for a framework, by the end of their scopes.
_WRITTEN_FOR: Final = {
    "ag2": "autogen",
    "agno": "agno",
    "autogen_agentchat": "autogen",
    "crewai": "crewai",
    "dspy": "dspy",
    "google_adk": "google_adk",
    "haystack": "haystack",
    "litellm": "litellm",
    "llama_index": "llamaindex",
    "llamaindex": "llamaindex",
    "openai_agents": "openai_agents",
    "smolagents": "smolagents",
}
_INSTRUMENTATIONS: Final = (
    "openinference.instrumentation.",
    "opentelemetry.instrumentation.",
    "logfire.",
)
Proof = Literal["recorded", "hand-made"]
# By dialect's name and fact, the better proof where there are both.
Evidence = Mapping[tuple[str, str], Proof]


def gather_evidence() -> Evidence:
    """Return what all recorded and hand-made cases prove."""
    found: dict[tuple[str, str], Proof] = {}
    for case in dialect_cases():
        for _, fact in _facts(case.spans, case.logs):
            found[case.dialect, fact] = "hand-made"
    for name in case_names():
        for dialect, fact in _case_facts(name):
            found[dialect, fact] = "recorded"
    return found


def _case_facts(name: str) -> Iterator[tuple[str, str]]:
    spans, logs = read_case(CORPUS / "captures" / name)
    for trace_id in dict.fromkeys(span.trace_id for span in spans):
        yield from _facts(
            [span for span in spans if span.trace_id == trace_id],
            [log for log in logs if log.trace_id == trace_id],
        )


def _facts(spans: Sequence[SpanRecord], logs: Sequence[LogRecord]) -> Iterator[tuple[str, str]]:
    """Yield each fact with the dialect of the span that it was found on.

    And with the framework that the span's instrumentation was written for, if it is another.
    """
    trace = trace_to_api(assemble(spans, logs))
    dialects = {span["span_id"]: _named(span) for span in trace["spans"]}
    for span_id, fact in (*_trace_facts(trace), *_span_facts(spans)):
        for name in dialects.get(span_id, ()):
            yield name, fact


def _named(span: Mapping[str, Any]) -> set[str]:
    scope = span["scope_name"]
    found = {span["dialect"]}
    if scope.startswith(_INSTRUMENTATIONS):
        found.add(_WRITTEN_FOR.get(scope.rsplit(".", 1)[-1], span["dialect"]))
    return found


def _trace_facts(trace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for call in trace["llm_calls"]:
        if call["input"] or call["output"]:
            yield call["span_id"], "messages"
    for call in trace["tool_calls"]:
        span_id = call["span_id"] or call["requested_by_span_id"]
        if call["arguments"] not in (None, ""):
            yield span_id, "tool arguments"
        if call["output"] not in (None, ""):
            yield span_id, "tool output"
    for document in trace["documents"]:
        yield document["span_id"], "documents"
    for span in trace["spans"]:
        if span["usage"]["total_tokens"] is not None:
            yield span["span_id"], "tokens"
        if span["cost_usd"] is not None:
            yield span["span_id"], "cost"


def _span_facts(spans: Iterable[SpanRecord]) -> Iterator[tuple[str, str]]:
    for span in spans:
        fields = reading_of(span).fields()
        if fields.session_id:
            yield span.span_id, "session"
        if fields.user_id:
            yield span.span_id, "user"
