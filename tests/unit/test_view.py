"""What the API answers is what its schema names."""

from __future__ import annotations

from tests.helpers.corpus import assemble_case
from tracejury.rest import Flags, ToolCall, TraceDetail, Turn, Usage
from tracejury.view import trace_to_api


def test_every_field_of_a_trace_is_in_its_schema() -> None:
    (document,) = [trace_to_api(trace) for trace in assemble_case("oi_openai_agents")][:1]
    assert document.keys() <= TraceDetail.model_fields.keys()
    assert document["tool_calls"][0].keys() == ToolCall.model_fields.keys()
    assert document["turns"][0].keys() == Turn.model_fields.keys()
    assert document["flags"].keys() == Flags.model_fields.keys()
    assert document["usage"].keys() == Usage.model_fields.keys()
