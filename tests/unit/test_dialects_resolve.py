"""Fields are found over all dialects, one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracejury.dialects import BUILT_IN, Fields, active, resolve


def fields(name: str = "span", scope: str = "", /, **attributes: Any) -> Fields:
    events: list[tuple[str, dict[str, Any]]] = attributes.pop("events", [])
    return resolve(
        scope_name=scope,
        resource={},
        name=name,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        events=events,
    )


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.operation.name": "chat"}, "llm"),
        ({"gen_ai.operation.name": "embeddings"}, "embedding"),
        ({"gen_ai.operation.name": "execute_tool"}, "tool"),
        ({"gen_ai.operation.name": "invoke_agent"}, "agent"),
        ({"gen_ai.operation.name": "invoke_workflow"}, "workflow"),
        ({"gen_ai.operation.name": "retrieval"}, "retriever"),
        ({"openinference.span.kind": "LLM"}, "llm"),
        ({"openinference.span.kind": "chain"}, "workflow"),
        ({"openinference.span.kind": "EVALUATOR"}, "evaluator"),
        ({"traceloop.span.kind": "task"}, "step"),
        ({"llm.request.type": "rerank"}, "reranker"),
        ({"mcp.method.name": "tools/call"}, "tool"),
        ({"mcp.method.name": "initialize"}, "mcp"),
        ({"gen_ai.tool.name": "f"}, "tool"),
        ({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1}, "llm"),
        ({"gen_ai.agent.name": "a"}, "agent"),
        ({"retrieval.documents.0.document.content": "d"}, "retriever"),
        ({"input.value": "x"}, "workflow"),
        ({"http.method": "GET"}, "unknown"),
        # What a library says outright wins over the operation and the shape.
        (
            {"openinference.span.kind": "RETRIEVER", "gen_ai.operation.name": "embeddings"},
            "retriever",
        ),
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"}, "agent"),
        ({"openinference.span.kind": "UNKNOWN", "gen_ai.operation.name": "chat"}, "llm"),
    ],
)
def test_the_kind_is_found(attributes: dict[str, Any], kind: str) -> None:
    assert fields(**attributes).kind == kind


@pytest.mark.parametrize(
    ("name", "kind", "tool_name"),
    [
        ("execute_tool search", "tool", "search"),
        ("running tool: search", "tool", "search"),
        ("search.tool", "tool", "search"),
        ("tools/call search", "tool", "search"),
        ("invoke_agent a", "agent", ""),
        ("a.agent", "agent", ""),
        ("running 2 tools", "step", ""),
        ("GET /", "unknown", ""),
    ],
)
def test_a_span_name_tells_the_kind_where_nothing_else_does(
    name: str, kind: str, tool_name: str
) -> None:
    found = fields(name)
    assert (found.kind, found.tool_name) == (kind, tool_name)


def test_a_handoff_is_no_tool_although_it_is_recorded_as_one() -> None:
    found = fields("handoff to billing", **{"openinference.span.kind": "TOOL"})
    assert found.kind == "handoff"


@pytest.mark.parametrize(
    ("scope", "key", "dialect"),
    [
        ("pydantic-ai", "gen_ai.system", "pydantic_ai"),
        ("openinference.instrumentation.x", "x", "openinference"),
        ("app", "traceloop.span.kind", "openllmetry"),
        ("opentelemetry.instrumentation.openai", "gen_ai.prompt.0.content", "openllmetry"),
        ("opentelemetry.instrumentation.openai_v2", "gen_ai.system", "otel_genai"),
        ("gcp.vertex.agent", "gen_ai.system", "google_adk"),
        ("app", "input", "generic"),
        ("app", "http.method", ""),
    ],
)
def test_the_dialect_is_recognized(scope: str, key: str, dialect: str) -> None:
    assert fields("span", scope, **{key: "x"}).dialect == dialect


def test_the_current_convention_wins_and_older_names_fill_in() -> None:
    found = fields(
        gen_ai__operation__name="chat",
        llm__model_name="old",
        gen_ai__response__model="new",
        llm__token_count__prompt=3,
        gen_ai__usage__prompt_tokens=5,
        llm__token_count__completion="7.0",
    )
    assert (found.model, found.input_tokens, found.output_tokens) == ("new", 5, 7)


@pytest.mark.parametrize("bad", ["", -1, "x", None, True, float("nan"), "NaN", [], {}, 1e300])
def test_what_is_no_count_is_missing_and_the_next_name_is_tried(bad: Any) -> None:
    found = fields(gen_ai__usage__input_tokens=bad, llm__token_count__prompt=4)
    assert found.input_tokens == 4


def test_zero_is_a_count() -> None:
    assert fields(gen_ai__usage__input_tokens=0, llm__token_count__prompt=4).input_tokens == 0


def test_flattened_lists_are_gathered_in_numeric_order_with_gaps() -> None:
    attributes = {f"gen_ai.prompt.{n}.content": f"m{n}" for n in (10, 2, 0, 11)}
    found = fields(**attributes)
    assert found.input is not None
    assert [m["content"] for m in json.loads(found.input)] == ["m0", "m2", "m10", "m11"]


def test_a_flattened_list_without_content_does_not_hide_the_general_input() -> None:
    found = fields(
        **{
            "openinference.span.kind": "AGENT",
            "llm.input_messages.0.message.role": "user",
            "input.value": "hello",
        }
    )
    assert found.input == "hello"


def test_the_bare_prefix_may_hold_the_list_as_json() -> None:
    found = fields(llm__input_messages='[{"role": "user"}]')
    assert json.loads(found.input or "") == [{"role": "user"}]
    assert fields(llm__input_messages="no list").input is None


def test_messages_in_events_are_gathered_with_their_roles() -> None:
    found = fields(
        gen_ai__operation__name="chat",
        events=[
            ("gen_ai.system.message", {"content": "s"}),
            ("gen_ai.user.message", {"content": "u"}),
            ("gen_ai.choice", {"index": 0, "message": '{"content": "a"}'}),
        ],
    )
    assert json.loads(found.input or "") == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
    ]
    assert json.loads(found.output or "")[0]["message"] == '{"content": "a"}'


def test_several_details_events_are_joined() -> None:
    event = "gen_ai.client.inference.operation.details"
    found = fields(
        events=[
            (event, {"gen_ai.input.messages": '[{"role": "user"}]'}),
            (event, {"gen_ai.input.messages": [{"role": "tool"}]}),
        ]
    )
    assert json.loads(found.input or "") == [{"role": "user"}, {"role": "tool"}]


@pytest.mark.parametrize("mark", ["__REDACTED__", "<REDACTED>", "[REDACTED]"])
def test_a_mark_of_removal_is_no_content(mark: str) -> None:
    found = fields(**{"input.value": mark, "openinference.span.kind": "LLM"})
    assert found.input is None
    assert found.redacted


def test_cut_json_stays_as_it_is_and_is_marked() -> None:
    found = fields(gen_ai__input__messages='[{"role": "user", "parts": [{"ty')
    assert found.input == '[{"role": "user", "parts": [{"ty'
    assert found.truncated


def test_a_tools_schema_is_not_taken_for_its_arguments() -> None:
    schema = '{"city": {"type": "string", "description": "name"}}'
    kind = {"openinference.span.kind": "TOOL", "tool.name": "f"}
    assert fields(**kind, **{"tool.parameters": schema}).tool_arguments is None
    assert fields(**kind, **{"tool.parameters": '{"city": "Oslo"}'}).tool_arguments == (
        '{"city": "Oslo"}'
    )


@pytest.mark.parametrize(
    ("attributes", "provider"),
    [
        ({"gen_ai.provider.name": "openai"}, "openai"),
        ({"gen_ai.system": "OpenAI"}, "openai"),
        ({"gen_ai.system": "openai.chat"}, "openai"),
        ({"gen_ai.provider.name": "langchain", "llm.provider": "anthropic"}, "anthropic"),
        ({"gen_ai.system": "strands-agents"}, ""),
    ],
)
def test_the_provider_is_a_provider(attributes: dict[str, Any], provider: str) -> None:
    assert fields(**attributes).provider == provider


@pytest.mark.parametrize(
    "attributes",
    [
        {"session.id": "s", "user.id": "u"},
        {"gen_ai.conversation.id": "s", "enduser.id": "u"},
        {
            "traceloop.association.properties.thread_id": "s",
            "traceloop.association.properties.user_id": "u",
        },
        {"metadata": '{"thread_id": "s", "user_id": "u"}'},
    ],
)
def test_session_and_user_are_found(attributes: dict[str, Any]) -> None:
    found = fields(**attributes)
    assert (found.session_id, found.user_id) == ("s", "u")


def test_the_error_comes_from_the_attribute_or_the_exception() -> None:
    exception = {"exception.type": "ValueError", "exception.message": "no"}
    found = fields(events=[("exception", exception)])
    assert (found.error_type, found.error_message) == ("ValueError", "no")
    assert fields(events=[("exception", exception)], error__type="timeout").error_type == "timeout"


def test_the_parts_of_a_cost_are_added_where_no_total_is_recorded() -> None:
    assert fields(**{"llm.cost.prompt": 0.1, "llm.cost.completion": 0.2}).cost_usd == pytest.approx(
        0.3
    )
    assert fields(**{"llm.cost.prompt": 0.1, "llm.cost.total": 0.5}).cost_usd == 0.5
    assert fields(**{"llm.cost.total": -1}).cost_usd is None


def test_pydantic_ai_version_1_is_read() -> None:
    found = fields(
        "running tool",
        "pydantic-ai",
        gen_ai__tool__name="f",
        tool_arguments='{"a": 1}',
        tool_response="ok",
    )
    assert (found.kind, found.tool_name) == ("tool", "f")
    assert (found.tool_arguments, found.tool_result) == ('{"a": 1}', "ok")


def test_aggregated_usage_is_not_usage() -> None:
    assert fields(gen_ai__aggregated_usage__input_tokens=5).input_tokens is None


def test_json_strings_are_opened_where_the_library_encodes_them() -> None:
    quoted = {"traceloop.span.kind": "tool", "traceloop.entity.output": '"58"'}
    assert fields(**quoted).tool_result == "58"
    plain = {"openinference.span.kind": "LLM", "output.value": '"58"'}
    assert fields(**plain).output == '"58"'
    assert fields(**plain, **{"output.mime_type": "application/json"}).output == "58"


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("gen_ai.input.messages", True),
        ("openinference.span.kind", True),
        ("llm.input_messages.3.message.content", True),
        ("gen_ai.request.temperature", True),
        ("ai.response.text", True),
        ("http.method", False),
        ("my.list.3.content", False),
    ],
)
def test_it_is_known_which_attributes_are_read(key: str, known: bool) -> None:
    assert active().index.is_read(key) is known


def test_dialects_have_names_of_their_own() -> None:
    assert len({dialect.name for dialect in BUILT_IN}) == len(BUILT_IN)
