"""Messages are read in every shape in which frameworks record them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracejury.assembly.message import finish_reason
from tracejury.assembly.messages import parse_messages
from tracejury.assembly.spoken import last_text
from tracejury.assembly.unwrap import arguments, output
from tracejury.dialects.decode import decode
from tracejury.dialects.pyrepr import parse_repr

CITY = {"city": "Oslo"}
CALL = {"id": "c1", "name": "weather", "arguments": CITY}

# Each list says: a question, a call, its result, an answer.
CONVERSATIONS: dict[str, Any] = {
    "genai": [
        {"role": "user", "parts": [{"type": "text", "content": "Rain?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", **CALL}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "wet"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]},
    ],
    "pydantic": [
        {"role": "user", "parts": [{"type": "text", "content": "Rain?"}]},
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "tool_call",
                    "id": "c1",
                    "name": "weather",
                    "arguments": json.dumps(CITY),
                }
            ],
        },
        {
            "role": "user",
            "parts": [
                {"type": "tool_call_response", "id": "c1", "name": "weather", "result": "wet"}
            ],
        },
        {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]},
    ],
    "openai": [
        {"role": "user", "content": "Rain?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": json.dumps(CITY)},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "wet"},
        {"role": "assistant", "content": "Yes."},
    ],
    "responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rain?"}]},
        {
            "type": "function_call",
            "id": "fc_9",
            "call_id": "c1",
            "name": "weather",
            "arguments": json.dumps(CITY),
        },
        {"type": "function_call_output", "call_id": "c1", "output": "wet"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Yes."}],
        },
    ],
    "anthropic": [
        {"role": "user", "content": "Rain?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": CITY}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "wet"}],
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "Rain?"}]},
        {
            "role": "assistant",
            "content": json.dumps(
                [{"toolUse": {"toolUseId": "c1", "name": "weather", "input": CITY}}]
            ),
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "c1",
                        "status": "success",
                        "content": [{"text": "wet"}],
                    }
                }
            ],
        },
        {"role": "assistant", "content": [{"text": "Yes."}]},
    ],
    "google": {
        "contents": [
            {"role": "user", "parts": [{"text": "Rain?"}]},
            {
                "role": "model",
                "parts": [{"function_call": {"id": "c1", "name": "weather", "args": CITY}}],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "function_response": {
                            "id": "c1",
                            "name": "weather",
                            "response": {"result": "wet"},
                        }
                    }
                ],
            },
            {"role": "model", "parts": [{"text": "Yes."}]},
        ]
    },
    "vercel": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Rain?"}]},
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool-call",
                        "toolCallId": "c1",
                        "toolName": "weather",
                        "input": CITY,
                    }
                ],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "toolName": "weather",
                        "output": {"type": "text", "value": "wet"},
                    }
                ],
            },
            {"role": "assistant", "content": "Yes."},
        ]
    },
    "langchain constructors": {
        "messages": [
            [
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "schema", "messages", "HumanMessage"],
                    "kwargs": {"content": "Rain?", "type": "human"},
                },
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "schema", "messages", "AIMessageChunk"],
                    "kwargs": {
                        "content": "",
                        "tool_calls": [
                            {"name": "weather", "args": CITY, "id": "c1", "type": "tool_call"}
                        ],
                    },
                },
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "schema", "messages", "ToolMessage"],
                    "kwargs": {"content": "wet", "tool_call_id": "c1", "status": "success"},
                },
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "schema", "messages", "AIMessage"],
                    "kwargs": {"content": "Yes."},
                },
            ]
        ]
    },
    "langchain data": [
        {"type": "human", "data": {"content": "Rain?"}},
        {
            "type": "ai",
            "data": {"content": "", "tool_calls": [{"name": "weather", "args": CITY, "id": "c1"}]},
        },
        {"type": "tool", "data": {"content": "wet", "tool_call_id": "c1"}},
        {"type": "ai", "data": {"content": "Yes."}},
    ],
    "openinference": [
        {"message": {"role": "user", "content": "Rain?"}},
        {
            "message": {
                "role": "assistant",
                "tool_calls": [
                    {
                        "tool_call": {
                            "id": "c1",
                            "function": {"name": "weather", "arguments": json.dumps(CITY)},
                        }
                    }
                ],
            }
        },
        {"message": {"role": "tool", "tool_call_id": "c1", "content": "wet"}},
        {
            "message": {
                "role": "assistant",
                "contents": [{"message_content": {"type": "text", "text": "Yes."}}],
            }
        },
    ],
    "openllmetry": [
        {"role": "user", "content": '[{"type": "text", "text": "Rain?"}]'},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "name": "weather", "arguments": json.dumps(CITY)}],
        },
        {"role": "tool", "content": "wet", "tool_call_id": "c1"},
        {"role": "assistant", "content": "Yes."},
    ],
    "haystack": [
        {"role": "user", "meta": {}, "content": [{"text": "Rain?"}]},
        {
            "role": "assistant",
            "content": [{"tool_call": {"tool_name": "weather", "arguments": CITY, "id": "c1"}}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "tool_call_result": {
                        "result": "wet",
                        "origin": {"tool_name": "weather", "arguments": CITY, "id": "c1"},
                        "error": False,
                    }
                }
            ],
        },
        {"role": "assistant", "content": [{"text": "Yes."}]},
    ],
    "python objects": [
        "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='Rain?')])",
        "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[ToolCall("
        "tool_name='weather', arguments={'city': 'Oslo'}, id='c1', extra=None)])",
        "ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='wet', "
        "origin=ToolCall(tool_name='weather', arguments={'city': 'Oslo'}, id='c1'), error=False)])",
        "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='Yes.')])",
    ],
    "events": [
        {"event.name": "gen_ai.user.message", "role": "user", "content": "Rain?"},
        {
            "event.name": "gen_ai.assistant.message",
            "role": "assistant",
            "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": CITY}}],
        },
        {"event.name": "gen_ai.tool.message", "role": "tool", "content": "wet", "id": "c1"},
        {
            "event.name": "gen_ai.choice",
            "index": 0,
            "message": {"role": "assistant", "content": "Yes."},
        },
    ],
}


@pytest.mark.parametrize("shape", CONVERSATIONS)
@pytest.mark.parametrize("encode", [lambda v: v, json.dumps, lambda v: json.dumps(json.dumps(v))])
def test_a_conversation_is_read_in_every_shape(shape: str, encode: Any) -> None:
    found = parse_messages(encode(CONVERSATIONS[shape]))
    assert [message.role for message in found] == ["user", "assistant", "tool", "assistant"]
    assert found[0].text == "Rain?"
    (call,) = found[1].parts
    assert (call.type, call.id, call.name, call.arguments) == ("tool_call", "c1", "weather", CITY)
    (result,) = found[2].parts
    assert (result.type, result.id, result.output) == ("tool_result", "c1", "wet")
    assert found[3].text == "Yes."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ('{"messages": [{"role": "assistant", "content": "hi"}]}', "hi"),
        ('{"generations": [[{"text": "hi", "message": {"content": "hi"}}]]}', "hi"),
        ('{"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}}]}', "hi"),
        ('{"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}]}', "hi"),
        ('{"outputs": {"messages": [{"type": "ai", "content": "hi"}]}}', "hi"),
        ('{"output": "hi", "kwargs": {}}', "hi"),
        ('{"raw": "hi", "pydantic": null}', "hi"),
        ('{"city": "Oslo", "temperature": 3}', '{"city":"Oslo","temperature":3}'),
        (
            "AgentOutput(response=ChatMessage(role=<Role.A: 'assistant'>, "
            "blocks=[TextBlock(text='hi')]))",
            "hi",
        ),
        ("42", "42"),
    ],
)
def test_an_answer_is_found_in_its_envelope(value: str, text: str) -> None:
    assert last_text(parse_messages(value, "assistant"), "assistant") == text


@pytest.mark.parametrize(
    "value",
    [
        '{"input": "hi"}',
        '{"task": "hi", "stream": false}',
        '{"messages": [["user", "x"], {"role": "user", "content": "hi"}]}',
        '{"inputs": {"messages": [{"role": "user", "content": "hi"}]}, "tags": []}',
        '{"args": [], "kwargs": {"question": "hi"}}',
        '{"new_message": {"role": "user", "parts": [{"text": "hi"}]}, "user_id": "u"}',
    ],
)
def test_a_question_is_found_in_its_envelope(value: str) -> None:
    assert last_text(parse_messages(value), "user") == "hi"


def test_an_object_without_a_message_is_no_question() -> None:
    assert parse_messages('{"config": {"steps": 3}, "flag": true, "x": "y"}') == ()


def test_user_text_that_is_json_stays_text() -> None:
    (message,) = parse_messages([{"role": "user", "content": '[{"id": 1}]'}])
    assert message.text == '[{"id": 1}]'


def test_a_cut_python_object_is_no_message() -> None:
    assert parse_messages("StopEvent(result=AgentOutput(response='Here is ...", "assistant") == ()


def test_the_system_prompt_of_a_request_comes_first() -> None:
    found = parse_messages({"system": "Be kind.", "messages": [{"role": "user", "content": "hi"}]})
    assert [(m.role, m.text) for m in found] == [("system", "Be kind."), ("user", "hi")]


def test_a_call_that_stands_twice_in_one_message_is_one() -> None:
    (message,) = parse_messages(
        [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}],
                "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}],
            }
        ]
    )
    assert len(message.parts) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("STOP", "stop"),
        ("tool-calls", "tool_call"),
        (["length"], "length"),
        ("odd", "odd"),
        (3, ""),
    ],
)
def test_finish_reasons_have_one_vocabulary(value: Any, reason: str) -> None:
    assert finish_reason(value) == reason


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"city": "Oslo"}', CITY),
        ('"{\\"city\\": \\"Oslo\\"}"', CITY),
        ("{'city': 'Oslo'}", CITY),
        ({"input_str": "{'city': 'Oslo'}", "tags": [], "metadata": {}}, CITY),
        ({"input_str": "x", "inputs": CITY, "kwargs": {}}, CITY),
        ({"args": [], "sanitize_inputs_outputs": True, "kwargs": CITY}, CITY),
        ({"args": [CITY], "kwargs": {}}, CITY),
        ({"args": [1], "kwargs": {"b": 2}}, {"args": [1], "b": 2}),
        ({"name": "weather", "args": CITY, "id": "c1", "type": "tool_call"}, CITY),
        ({"input": '{"city": "Oslo"}'}, CITY),
        ({"input": "Oslo"}, {"input": "Oslo"}),
        ({"tool_name": "weather", "arguments": '{"city": "Oslo"}'}, CITY),
        ("just text", "just text"),
        ("42", "42"),
        ("", None),
    ],
)
def test_arguments_are_taken_out_of_their_envelopes(value: Any, expected: Any) -> None:
    assert arguments(value)[0] == expected


@pytest.mark.parametrize(
    ("value", "expected", "failed"),
    [
        ("wet", "wet", False),
        ("58", "58", False),
        ('{"a": 1}', {"a": 1}, False),
        ('[{"id": "d", "text": "t"}]', [{"id": "d", "text": "t"}], False),
        ({"type": "tool", "content": "wet", "tool_call_id": "c1", "status": "error"}, "wet", True),
        ({"lc": 1, "kwargs": {"content": "wet", "status": "success"}}, "wet", False),
        ("content='it\\'s wet' name='weather' tool_call_id='c1'", "it's wet", False),
        ({"output": "wet", "kwargs": {}}, "wet", False),
        ({"content": [{"type": "text", "text": "wet"}], "isError": True}, "wet", True),
        ({"content": [], "isError": False, "structuredContent": {"a": 1}}, {"a": 1}, False),
        ([{"text": "wet"}], "wet", False),
        ([{"json": {"a": 1}}], {"a": 1}, False),
        ({"type": "error-text", "value": "no"}, "no", True),
        ({"result": "wet"}, "wet", False),
        ({"result": {"a": 1}}, {"result": {"a": 1}}, False),
        ({"raw_output": "wet", "tool_name": "weather", "is_error": False}, "wet", False),
    ],
)
def test_outputs_are_taken_out_of_their_envelopes(value: Any, expected: Any, failed: bool) -> None:
    found = output(value)
    assert (found.value, found.is_error) == (expected, failed)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("A(x=1, y='b', z=[None, True])", {"type": "a", "x": 1, "y": "b", "z": [None, True]}),
        ("TextPart(text='a', at=datetime.datetime(2026, 1, 2))", None),
        (
            "A(kind=<Kind.B: 'b'>, o=<object at 0x1>)",
            {"type": "a", "kind": "b", "o": "<object at 0x1>"},
        ),
        ("id='1' source='user' n=None", {"id": "1", "source": "user", "n": None}),
        ("A(x='cut off...", None),
        ("A(x=1) and more", None),
        ("A(x=" + "[" * 100, None),
    ],
)
def test_the_text_of_python_objects_is_data(text: str, data: Any) -> None:
    found = parse_repr(text)
    if text.startswith("TextPart"):
        assert found["type"] == "text"
        assert found["at"] == {"type": "datetime", "0": 2026, "1": 1, "2": 2}
    else:
        assert found == data


def test_scalars_in_text_stay_text_and_deep_nesting_is_left_alone() -> None:
    assert decode("42") == "42"
    assert decode("true") == "true"
    assert decode("[" * 100 + "]" * 100) == "[" * 100 + "]" * 100
    assert decode('{"a": NaN}') == {"a": None}


def test_an_observation_handed_on_in_plain_text_is_no_question() -> None:
    spoken = parse_messages(
        [
            {"role": "user", "content": "How is Oslo?"},
            {"role": "assistant", "content": "Action: look\nAction Input: Oslo"},
            {"role": "user", "content": "Observation: rainy"},
        ]
    )
    assert last_text(spoken, "user") == "How is Oslo?"
    assert last_text(spoken[2:], "user") == "Observation: rainy"
