"""Models are named as their providers name them."""

from __future__ import annotations

from typing import Any

import pytest

from tracejury.assemble import assemble
from tracejury.assembly.models import split_model
from tracejury.trace import SpanRecord


@pytest.mark.parametrize(
    ("name", "provider", "expected"),
    [
        ("gpt-4o", "openai", ("gpt-4o", "openai")),
        ("openai/gpt-4o", "", ("gpt-4o", "openai")),
        ("openai:gpt-4o", "", ("gpt-4o", "openai")),
        ("openai/gpt-4o", "openai", ("gpt-4o", "openai")),
        ("azure/my-deployment", "azure", ("my-deployment", "azure")),
        ("google-gla:gemini-2.5-pro", "", ("gemini-2.5-pro", "google-gla")),
        ("openrouter/openai/gpt-4o", "", ("openai/gpt-4o", "openrouter")),
        ("openai/gpt-4o", "openrouter", ("openai/gpt-4o", "openrouter")),
        ("meta-llama/Llama-3-70b", "", ("meta-llama/Llama-3-70b", "")),
        ("llama3:8b", "ollama", ("llama3:8b", "ollama")),
        ("ft:gpt-4o:acme", "openai", ("ft:gpt-4o:acme", "openai")),
        ("", "", ("", "")),
    ],
)
def test_the_provider_before_a_model_is_no_part_of_its_name(
    name: str, provider: str, expected: tuple[str, str]
) -> None:
    assert split_model(name, provider) == expected


def span(span_id: str, parent: str, **attributes: Any) -> SpanRecord:
    return SpanRecord(
        trace_id="ab" * 16,
        span_id=span_id * 16,
        parent_span_id=parent * 16,
        name="span",
        start_ns=1,
        end_ns=2,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
    )


def test_a_call_that_names_no_model_has_that_of_its_agent_and_its_price() -> None:
    trace = assemble(
        [
            span(
                "a",
                "",
                gen_ai__operation__name="invoke_agent",
                gen_ai__request__model="openai:gpt-4o",
            ),
            span(
                "b",
                "a",
                gen_ai__operation__name="chat",
                gen_ai__system="openai",
                gen_ai__usage__input_tokens=1000,
                gen_ai__usage__output_tokens=10,
            ),
        ]
    )
    assert trace.models == ("gpt-4o",)
    assert trace.cost.usd is not None
