"""What stands inside the envelopes that frameworks wrap around tool arguments and outputs."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from tracejury.dialects.decode import decode, to_text
from tracejury.dialects.pyrepr import parse_repr, parse_start

MAX_LAYERS = 6
_REPR = re.compile(
    r"^(?:ToolMessage\()?content=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?:,? (?:\w+)=.*)?\)?$",
    re.DOTALL,
)
_REPR_ID = re.compile(r"tool_call_id='([^']*)'")
_CALL_KEYS = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
# How Pydantic AI wrote a request's arguments before 0.0.32, as text or as an object.
_WRITTEN = frozenset({"args_json", "args_dict"})
_LANGCHAIN_KEYS = frozenset({"input_str", "inputs", "tags", "metadata", "kwargs"})
_TARGETS = ("name", "tool_name", "tool")
PAYLOADS = ("args", "arguments", "input", "kwargs", "params")
_PAYLOADS = frozenset(PAYLOADS)
_RESPONSE_KEYS = frozenset(
    {"id", "name", "response", "scheduling", "will_continue", "willContinue", "parts"}
)
# A tool's output that has none of these keys stands in no envelope.
_ENVELOPES = frozenset(
    {"content", "isError", "kwargs", "lc", "output", "outputs", "raw_output", "response"}
    | {"result", "toolUseId", "tool_call_id", "type", "messages"}
)
# What a message of LangChain's tools has and a tool's own data, of a type "tool" too, does not.
_MESSAGE_KEYS = frozenset({"tool_call_id", "status", "additional_kwargs", "response_metadata"})
_MCP_KEYS = frozenset({"content", "structuredContent", "isError", "_meta", "meta"})
_TEXT_TYPES = frozenset({"text", "output_text", "input_text", "content"})
_VALUE_TYPES = frozenset(
    {"text", "json", "error-text", "error-json", "content", "execution-denied"}
)


class Output(NamedTuple):
    """What a tool gave back, and what its envelope said about it."""

    value: Any
    is_error: bool = False
    id: str = ""
    name: str = ""


def arguments(value: Any) -> tuple[Any, str]:
    """The call's arguments without envelopes (None if absent), and the call id found in them."""
    call_id = ""
    for _ in range(MAX_LAYERS):
        value = decode(value)
        if not isinstance(value, dict):
            break
        inner = _inner_arguments(value)
        if inner is value:
            break
        if value.get("type") == "tool_call":
            call_id = _text(value.get("id"))
        call_id = _text(value.get("toolUseId")) or call_id
        value = inner
    return (None if value == "" else value), call_id


def asked_arguments(value: Any) -> Any:
    """The arguments in a model's request: what it named stays, be it `name` or `kwargs`.

    Logfire up to 2.x wraps those of Anthropic's models in `input`.
    """
    data = decode(value)
    if isinstance(data, dict) and len(data) == 1:
        ((key, inner),) = data.items()
        if key in _WRITTEN or (key == "input" and isinstance(inner, dict)):
            data = decode(inner)
    return None if data == "" else data


def dispatched_name(value: Any) -> str:
    """The tool that a dispatcher's arguments name: `{"name": ..., "args": {...}}`; else ""."""
    data = decode(value)
    if isinstance(data, dict) and len(data) == 2 and not _PAYLOADS.isdisjoint(data):
        return next((_text(data[key]) for key in _TARGETS if key in data), "")
    return ""


def _inner_arguments(data: dict[str, Any]) -> Any:
    keys = data.keys()
    if "input_str" in keys and keys <= _LANGCHAIN_KEYS:
        return data.get("inputs") or decode(data["input_str"])
    if "kwargs" in keys and keys <= _CALL_KEYS:
        return _called_with(data.get("args"), data["kwargs"])
    if data.get("type") == "tool_call" and "args" in keys:
        return data["args"]
    if "toolUseId" in keys and "input" in keys:
        return data["input"]
    if keys == {"messages"}:
        return _logged(data)
    if "arguments" in keys and ("tool_name" in keys or "name" in keys):
        return data["arguments"]
    if len(keys) == 1 and not _WRITTEN.isdisjoint(keys):
        return next(iter(data.values()))
    if keys == {"input"} and isinstance(data["input"], str | dict):
        inner = decode(data["input"])
        return inner if isinstance(inner, dict) else data
    return data


def _logged(data: dict[str, Any]) -> Any:
    """What the only message holds in a log that AgentCore writes for a tool; else the object."""
    messages = data["messages"]
    message = messages[0] if isinstance(messages, list) and len(messages) == 1 else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, dict):
        return data
    return content.get("message", content.get("content", data))


def _called_with(args: Any, kwargs: Any) -> Any:
    if not args:
        return kwargs if isinstance(kwargs, dict) else {}
    if isinstance(args, list) and len(args) == 1 and isinstance(args[0], dict) and not kwargs:
        return args[0]
    return {"args": args, **(kwargs if isinstance(kwargs, dict) else {})}


def output(value: Any) -> Output:
    """The tool's output without envelopes: data where it was JSON, else text."""
    failed, call_id, name = False, "", ""
    for _ in range(MAX_LAYERS):
        value = decode(value)
        found = _inner_output(value)
        if found is None:
            break
        failed = failed or found.is_error
        call_id, name = call_id or found.id, name or found.name
        value = found.value
    return Output(value, failed, call_id, name)


def _inner_output(value: Any) -> Output | None:
    if isinstance(value, str):
        return _from_repr(value)
    if isinstance(value, list):
        return _from_blocks(value)
    return _from_object(value) if isinstance(value, dict) else None


def _from_repr(text: str) -> Output | None:
    if "tool_output=" in text and isinstance(data := parse_repr(text) or parse_start(text), dict):
        return _from_object(data)
    if text.startswith("status=") and isinstance(data := parse_repr(text), dict):
        failed = data["status"] not in ("success", "ok")
        return Output(data["result"], failed) if "result" in data else None
    match = _REPR.match(text) if text.startswith(("content=", "ToolMessage(content=")) else None
    if match is None:
        return None
    try:
        content = ast.literal_eval(match[1])
    except (ValueError, SyntaxError, MemoryError):
        return None
    call_id = _REPR_ID.search(text[match.end(1) :])
    return Output(content, "status='error'" in text[match.end(1) :], call_id[1] if call_id else "")


def _from_blocks(blocks: list[Any]) -> Output | None:
    """The text of content blocks, or the value of a single one."""
    if len(blocks) == 1 and isinstance(blocks[0], dict):
        sole = blocks[0]
        if sole.keys() == {"json"}:
            return Output(sole["json"])
        if "toolResult" in sole or _is_result(sole):
            return _from_object(sole.get("toolResult", sole))
    texts = []
    for block in blocks:
        if not isinstance(block, dict) or not _is_text_block(block):
            return None
        texts.append(str(block.get("text") or block.get("content") or ""))
    return Output("\n".join(texts)) if texts else None


def _is_text_block(block: dict[str, Any]) -> bool:
    if _text(block.get("type", block.get("block_type"))) in _TEXT_TYPES:
        return isinstance(block.get("text", block.get("content")), str)
    return block.keys() == {"text"} and isinstance(block["text"], str)


def _is_result(data: dict[str, Any]) -> bool:
    kind = data.get("type")
    if kind == "tool":
        return not _MESSAGE_KEYS.isdisjoint(data)
    return kind in ("tool_result", "function_call_output", "tool_call_response")


def _from_object(data: dict[str, Any]) -> Output | None:
    if _ENVELOPES.isdisjoint(data):
        return None
    keys = data.keys()
    if keys == {"messages"}:
        content = _logged(data)
        return None if content is data else Output(content)
    if "lc" in keys and isinstance(data.get("kwargs"), dict):
        return Output({"type": "tool", **data["kwargs"]}) if "content" in data["kwargs"] else None
    if data.get("type") == "tool" and isinstance(data.get("data"), dict):
        return Output({**data["data"], "type": "tool"})
    if _is_result(data) or ("toolUseId" in keys and "content" in keys):
        return _tool_message(data)
    if "tool_call_id" in keys and "content" in keys:
        return _tool_message(data)
    if isinstance(data.get("tool_output"), dict) and "tool_name" in keys:
        inner = data["tool_output"]
        failed = inner.get("is_error") is True
        blocks = inner.get("blocks", inner.get("content"))
        known = [b for b in blocks if "text" in b] if isinstance(blocks, list) else blocks
        return Output(known or None, failed, _text(data.get("tool_id")))
    if "raw_output" in keys and "tool_name" in keys:
        return Output(data["raw_output"], data.get("is_error") is True)
    if isinstance(data.get("response"), dict) and "name" in keys and keys <= _RESPONSE_KEYS:
        return Output(data["response"], False, _text(data.get("id")), _text(data["name"]))
    if "content" in keys and ("isError" in keys or _is_mcp_result(data)):
        inner = data.get("structuredContent") or data["content"]
        return Output(inner, data.get("isError") is True)
    if _text(data.get("type")) in _VALUE_TYPES and keys <= {"type", "value", "providerOptions"}:
        return Output(data.get("value"), str(data["type"]).startswith("error"))
    if keys <= {"output", "kwargs"} and "kwargs" in keys and "output" in keys:
        return Output(data["output"])
    if keys == {"output"} and isinstance(data["output"], dict):
        return _message_inside(data["output"])
    if keys == {"output"} and isinstance(data["output"], str):
        return _from_repr(data["output"])
    if keys == {"outputs"}:
        return Output(data["outputs"])
    if keys == {"result"} and not isinstance(data["result"], dict | list):
        return Output(data["result"])
    return None


def _message_inside(data: dict[str, Any]) -> Output | None:
    """The tool's message that is all of an output."""
    if "tool_call_id" in data:
        return _tool_message(data)
    return Output(data) if data.get("lc") == 1 and "kwargs" in data else None


def _is_mcp_result(data: dict[str, Any]) -> bool:
    """Whether the object is the result of an MCP tool: blocks of content and nothing else."""
    blocks = data["content"]
    return (
        data.keys() <= _MCP_KEYS
        and isinstance(blocks, list)
        and bool(blocks)
        and all(isinstance(block, dict) and "type" in block for block in blocks)
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _tool_message(data: dict[str, Any]) -> Output | None:
    for key in ("content", "output", "response", "result"):
        if key in data:
            failed = data.get("status") == "error" or data.get("is_error") is True
            ids = (
                _text(data.get(k)) for k in ("tool_call_id", "call_id", "toolUseId", "tool_use_id")
            )
            call_id = next((value for value in ids if value), "")
            return Output(data[key], failed, call_id, _text(data.get("name")))
    return None


def output_text(value: Any) -> str:
    """The output as text: text as it is, data as JSON, "" where nothing was recorded."""
    return "" if value is None else to_text(value)
