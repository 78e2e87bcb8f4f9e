"""An invented framework that no dialect knows, and that examples/acme-dialect.yaml describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.helpers.otlp import to_json

DIALECT = Path(__file__).parents[2] / "examples" / "acme-dialect.yaml"
QUESTION = "What is the weather in Oslo?"
ANSWER = "It rains in Oslo."
_MESSAGES = {
    "acme.messages.0.role": "user",
    "acme.messages.0.content": QUESTION,
}
_CALLS = [{"id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}]
_CALL = {"id": "c1", "arguments": {"city": "Oslo"}, "result": {"sky": "rain"}}


def record_run(exporter: SpanExporter) -> str:
    """Record one run of an agent; returns its trace id."""
    provider = TracerProvider(resource=Resource.create({"service.name": "weather"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("acme.tracing.core")

    def span(kind: str, name: str, **attributes: Any) -> Any:
        named = {f"acme.{key}": value for key, value in attributes.items()}
        return tracer.start_as_current_span(name, attributes={"acme.type": kind, **named})

    with span(
        "run", "run", question=QUESTION, session="s-1", user="u-1", agent="weatherman"
    ) as run:
        with span("look_up", "look up", question="weather") as found:
            found.add_event("acme.found", {"id": "d1", "content": "Oslo is wet.", "score": 0.5})
        with span("think", "think", calls=json.dumps(_CALLS), **_usage(10, 5, 3)) as think:
            think.set_attributes(_MESSAGES)
            think.add_event("acme.instructed", {"text": "Be brief."})
        with tracer.start_as_current_span("act: get_weather") as act:
            act.set_attribute("acme.call", json.dumps(_CALL))
        with span("think", "think", answer=ANSWER, **_usage(20, 0, 7)) as think:
            think.set_attributes({**_MESSAGES, "acme.prompt.template.version": "7"})
            think.add_event("acme.tool.considered", {"name": "search"})
        run.set_attribute("acme.answer", ANSWER)
    provider.shutdown()
    return f"{run.get_span_context().trace_id:032x}"


def _usage(prompt: int, cached: int, completion: int) -> dict[str, Any]:
    usage = {"prompt": prompt, "cached_read": cached, "completion": completion}
    return {
        "model.asked": "nova-1",
        "usage": json.dumps(usage),
        "settings.temperature": 0.5,
        "debug.prompt_bytes": 17,
    }


def exported_run() -> Message:
    """One run as the export request that a stock exporter sends."""
    memory = InMemorySpanExporter()
    record_run(memory)
    request: Message = encode_spans(memory.get_finished_spans())
    return request


def write_run(path: Path) -> Path:
    """Write one run as a file that its ending names: .pb, .json or .jsonl."""
    request = exported_run()
    if path.suffix == ".pb":
        path.write_bytes(request.SerializeToString())
    else:
        path.write_text(json.dumps(to_json(request)) + "\n" * (path.suffix == ".jsonl"))
    return path
