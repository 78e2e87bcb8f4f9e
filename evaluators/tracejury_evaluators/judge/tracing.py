"""Spans of what judges are asked: one trace of its own for each judgement, linked to the judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, Status, StatusCode, TracerProvider

from tracejury.result import Failure, Outcome, Score
from tracejury.trace import Trace

if TYPE_CHECKING:
    from pydantic_ai.models import Model

SCOPE: Final = "tracejury.judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracing:
    """Where spans of judges go, and whether what was asked and answered stands in them."""

    provider: TracerProvider
    with_content: bool = False


_IN_FORCE: Final[list[Tracing | None]] = [None]
_ABOUT: ContextVar[Mapping[str, str]] = ContextVar("tracejury_judgement")


def trace_judges(tracing: Tracing | None) -> None:
    """Have judges of this process traced; None leaves them untraced again."""
    _IN_FORCE[0] = tracing


@contextmanager
def told_of(about: Mapping[str, str]) -> Iterator[None]:
    """Attributes of every judgement inside."""
    token = _ABOUT.set(about)
    try:
        yield
    finally:
        _ABOUT.reset(token)


def traced(model: Model[Any]) -> Model[Any]:
    """The model, its calls recorded as spans below the one of the judgement."""
    tracing = _IN_FORCE[0]
    if tracing is None:
        return model
    from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel

    settings = InstrumentationSettings(
        tracer_provider=tracing.provider,
        include_content=tracing.with_content,
        include_binary_content=False,
        include_model_request_parameters=tracing.with_content,
    )
    return InstrumentedModel(model, settings)


class Judgement:
    """The span of a judgement; takes what came of it."""

    def __init__(self, span: Span | None) -> None:
        self._span = span

    def ended(self, outcome: Outcome) -> None:
        """Note the outcome: no reason, which may quote what was judged."""
        if self._span is None:
            return
        self._span.set_attribute("tracejury.judgement.outcome", type(outcome).__name__.lower())
        if isinstance(outcome, Score):
            self._span.set_attribute("tracejury.judgement.score", outcome.value)
            self._span.set_attribute("tracejury.judgement.verdict", outcome.verdict or "")
        if isinstance(outcome, Failure):
            self._span.set_attribute("error.type", outcome.error_type)
            self._span.set_status(Status(StatusCode.ERROR, outcome.error_type))


@contextmanager
def judgement(evaluator_type: str, trace: Trace) -> Iterator[Judgement]:
    """A judgement as a trace of its own, with a link to what is judged."""
    tracing = _IN_FORCE[0]
    if tracing is None:
        yield Judgement(None)
        return
    about = _ABOUT.get({})
    name = about.get("tracejury.evaluator", evaluator_type)
    with tracing.provider.get_tracer(SCOPE).start_as_current_span(
        f"judge {name}",
        context=Context(),
        links=list(_links(trace)),
        attributes={
            "openinference.span.kind": "EVALUATOR",
            "tracejury.evaluator.type": evaluator_type,
            "tracejury.judged.trace_id": trace.trace_id,
            "tracejury.judged.revision": trace.revision,
            **about,
        },
        record_exception=False,
    ) as span:
        yield Judgement(span)


def _links(trace: Trace) -> Iterator[Link]:
    """A link to the judged trace's first span; none where its ids are not OpenTelemetry's."""
    try:
        ids = int(trace.trace_id, 16), int(trace.spans[0].span_id, 16)
    except (ValueError, IndexError):
        return
    context = SpanContext(trace_id=ids[0], span_id=ids[1], is_remote=True)
    if context.is_valid:
        yield Link(context)
