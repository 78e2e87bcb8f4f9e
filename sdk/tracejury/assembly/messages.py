"""Messages of a conversation, from every shape in which frameworks record them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tracejury.assembly import unwrap
from tracejury.assembly.parts import parse_call, parse_content, parse_part, part_type
from tracejury.dialects.decode import PLACEHOLDERS, decode, to_text
from tracejury.dialects.pyrepr import LOOKS_LIKE, parse_repr
from tracejury.trace import Message, Part, Role

MAX_DEPTH = 12
MAX_MESSAGES = 20_000

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
    "tool-response": "tool",
    "tool-call": "assistant",
    "systemmessage": "system",
    "humanmessage": "user",
    "aimessage": "assistant",
    "toolmessage": "tool",
    "functionmessage": "tool",
    "usermessage": "user",
    "assistantmessage": "assistant",
}
_FINISH: Final = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("length", "max_tokens"), "length"),
    **dict.fromkeys(
        ("tool_calls", "tool_call", "tool_use", "tool-calls", "function_call"), "tool_call"
    ),
    **dict.fromkeys(("content_filter", "content-filter", "safety", "refusal"), "content_filter"),
}
_ENVELOPES: Final = frozenset({"lc", "data", "message"})
_INPUT_KEYS: Final = (
    "messages",
    "chat_history",
    "contents",
    "new_message",
    "inputs",
    "input",
    "user_input",
    "query",
    "q",
    "question",
    "task",
    "prompt",
    "user_prompt",
    "message",
    "text",
    "kwargs",
    "args",
    "prompts",
    "content",
    "description",
    "data",
)
_OUTPUT_KEYS: Final = (
    "generations",
    "choices",
    "candidates",
    "replies",
    "outputs",
    "messages",
    "update",
    "output",
    "answer",
    "response",
    "final_output",
    "result",
    "message",
    "content",
    "text",
    "completion",
    "last_message",
    "raw",
    "return_values",
)


def parse_messages(value: Any, role: Role = "user") -> tuple[Message, ...]:
    """The messages in a recorded value; `role` is that of text that names none.

    An object that holds no message is an assistant's answer as it is, but no user's question.
    """
    found: list[Message] = []
    _collect(value, role, found, 0)
    return tuple(found[:MAX_MESSAGES])


def finish_reason(value: Any) -> str:
    """The finish reason in one vocabulary; unknown ones as they are."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if not isinstance(value, str):
        return ""
    name = value.rsplit(".", 1)[-1] if value.startswith("FinishReason.") else value
    return _FINISH.get(name.lower(), name)


def to_role(value: Any, default: Role) -> Role:
    """The role that a library's word for it means."""
    return _ROLES.get(value.lower(), default) if isinstance(value, str) else default


def _collect(value: Any, role: Role, found: list[Message], depth: int) -> None:
    if depth > MAX_DEPTH or len(found) > MAX_MESSAGES:
        return
    value = _decoded(value)
    if isinstance(value, str):
        if value not in PLACEHOLDERS:
            found.append(Message(role=role, parts=(Part(type="text", text=value),)))
    elif isinstance(value, list):
        _collect_list(value, role, found, depth)
    elif isinstance(value, dict):
        _collect_object(value, role, found, depth)


def _decoded(value: Any) -> Any:
    """The data behind JSON or the text of a Python object; None where the latter was cut off."""
    value = decode(value)
    if isinstance(value, str) and LOOKS_LIKE.match(value):
        data = parse_repr(value)
        if data is None and value[:1].isupper() and not value.rstrip().endswith(")"):
            return None
        return value if data is None else data
    return value


def _collect_list(items: list[Any], role: Role, found: list[Message], depth: int) -> None:
    pending: list[Part] = []
    speaker: Role = role

    def flush() -> None:
        if pending:
            found.append(_message(speaker, pending))
            pending.clear()

    for raw in items:
        item = _decoded(raw)
        part = None
        if isinstance(item, dict):
            if is_message(item):
                flush()
                _collect_message(item, role, found, depth)
                continue
            if part_type(item):
                part = parse_part(item)
        elif isinstance(item, str) and item not in PLACEHOLDERS:
            part = Part(type="text", text=item)
        if part is not None:
            spoken = _part_role(part, role)
            if spoken != speaker:
                flush()
                speaker = spoken
            pending.append(part)
        elif not isinstance(item, str):
            flush()
            _collect(item, role, found, depth + 1)
    flush()


def _part_role(part: Part, role: Role) -> Role:
    if part.type in ("tool_call", "reasoning"):
        return "assistant"
    return "tool" if part.type == "tool_result" else role


def is_message(data: dict[str, Any]) -> bool:
    """Whether the object is one message (rather than a part, or a container of messages)."""
    if "role" in data or "_role" in data:
        return isinstance(data.get("role", data.get("_role")), str)
    if len(data) == 1:
        return isinstance(data.get("message"), dict)
    if "lc" in data and isinstance(data.get("kwargs"), dict):
        return True
    if isinstance(data.get("message"), dict | str) and data.keys() & {
        "finish_reason",
        "index",
        "logprobs",
        "generation_info",
        "text",
    }:
        return True
    kind = data.get("type")
    if isinstance(data.get("source"), str) and "content" in data and isinstance(kind, str):
        return True
    if not isinstance(kind, str) or kind.lower() not in _ROLES:
        return False
    return isinstance(data.get("data"), dict) or "content" in data


def _collect_object(data: dict[str, Any], role: Role, found: list[Message], depth: int) -> None:
    if is_message(data):
        _collect_message(data, role, found, depth)
    elif part_type(data):
        _collect_list([data], role, found, depth)
    else:
        _collect_container(data, role, found, depth)


def _collect_message(data: dict[str, Any], role: Role, found: list[Message], depth: int) -> None:
    message = _one(data, role, depth)
    if message is not None:
        found.append(message)


def _collect_container(data: dict[str, Any], role: Role, found: list[Message], depth: int) -> None:
    """Messages inside an envelope; an object that is none is itself the content."""
    before = len(found)
    for key in _OUTPUT_KEYS if role == "assistant" else _INPUT_KEYS:
        value = data.get(key)
        if value is None or value == "" or isinstance(value, bool | int | float):
            continue
        _collect(value, role, found, depth + 1)
        if len(found) > before:
            break
    if len(found) == before:
        _collect_leftover(data, role, found, depth)
    elif role != "assistant" and not any(m.role == "system" for m in found[before:]):
        system = system_message(_system_of(data))
        if system is not None:
            found.insert(before, system)


def _collect_leftover(data: dict[str, Any], role: Role, found: list[Message], depth: int) -> None:
    texts = [v for v in data.values() if isinstance(v, str) and v not in PLACEHOLDERS]
    inner = [v for v in data.values() if isinstance(v, dict)]
    if len(data) == 1 and inner:
        _collect(inner[0], role, found, depth + 1)
    elif len(data) == 1 and texts:
        found.append(Message(role=role, parts=(Part(type="text", text=texts[0]),)))
    elif depth == 0 and data and role == "assistant":
        found.append(Message(role=role, parts=(Part(type="text", text=to_text(data)),)))


def _system_of(data: dict[str, Any]) -> Any:
    config = data.get("config")
    inner = config.get("system_instruction") if isinstance(config, dict) else None
    return data.get("system") or data.get("instructions") or data.get("system_instruction") or inner


def system_message(value: Any) -> Message | None:
    """The system message that instructions (text, parts or a list of either) make."""
    value = decode(value)
    if isinstance(value, dict) and isinstance(value.get("parts"), list):
        value = value["parts"]
    parts = parse_content(value) if isinstance(value, str | list | dict) else []
    texts = tuple(p for p in parts if p.type == "text" and p.text not in PLACEHOLDERS)
    return Message(role="system", parts=texts) if texts else None


def _one(data: dict[str, Any], role: Role, depth: int) -> Message | None:
    """One message from an object; envelopes around it are opened."""
    finish = finish_reason(data.get("finish_reason"))
    inner = _opened(data)
    if inner is not data:
        if isinstance(inner, str):
            inner = {"content": inner}
        if depth > MAX_DEPTH:
            return None
        inner = {"role": data["role"], **inner} if "role" in data and "role" not in inner else inner
        if "tool_calls" in data and "tool_calls" not in inner:
            inner = {**inner, "tool_calls": data["tool_calls"]}
        message = _one(inner, role, depth + 1)
        if message is None or message.finish_reason or not finish:
            return message
        return _message(message.role, list(message.parts), message.name, finish)
    spoken = _role_of(data, role)
    parts = _parts_of(data, spoken)
    meta = data.get("meta", data.get("_meta"))
    if not finish and isinstance(meta, dict):
        finish = finish_reason(meta.get("finish_reason"))
    if not parts and not finish:
        return None
    name = data.get("name")
    return _message(spoken, parts, name if isinstance(name, str) else "", finish)


def _opened(data: dict[str, Any]) -> Any:
    """The message inside an envelope of LangChain, OpenInference or a choice; else the object."""
    if not _ENVELOPES & data.keys():
        return data
    if "lc" in data and isinstance(data.get("kwargs"), dict):
        names = data.get("id")
        kind = names[-1] if isinstance(names, list) and names and isinstance(names[-1], str) else ""
        return {"role": _class_role(kind), **data["kwargs"]}
    if isinstance(data.get("data"), dict) and "content" in data["data"]:
        return {"role": data.get("type"), **data["data"]}
    message = decode(data.get("message"))
    if isinstance(message, list):
        return {"role": data.get("role", "assistant"), "content": message}
    return message if isinstance(message, dict | str) and message else data


def _class_role(kind: str) -> str:
    return kind.removesuffix("Chunk") if kind.endswith("Chunk") else kind


def _role_of(data: dict[str, Any], default: Role) -> Role:
    role = data.get("role", data.get("_role"))
    if isinstance(role, str):
        return to_role(role, default)
    if isinstance(data.get("source"), str):
        return to_role(data["source"], "assistant")
    return to_role(data.get("type"), default)


def _parts_of(data: dict[str, Any], role: Role) -> list[Part]:
    parts: list[Part] = []
    for key in ("parts", "content", "_content", "contents", "blocks"):
        if data.get(key) not in (None, "", []):
            parts = _contents(data, data[key], role)
            break
    known = {part.id for part in parts if part.type == "tool_call" and part.id}
    calls = decode(data.get("tool_calls"))
    for call in calls if isinstance(calls, list) else []:
        part = parse_call(call) if isinstance(call, dict) else None
        if part is not None and not (part.id and part.id in known):
            parts.append(part)
    if not isinstance(calls, list) or not calls:
        parts.extend(_legacy_call(data))
    return parts


def _contents(data: dict[str, Any], content: Any, role: Role) -> list[Part]:
    if role == "tool":
        blocks = decode(content)
        if not (isinstance(blocks, list) and any(part_type(b) == "tool_result" for b in blocks)):
            return [_result_of(data, content)]
        content = blocks
    return parse_content(content)


def _result_of(data: dict[str, Any], content: Any) -> Part:
    found = unwrap.output(content)
    ids = (data.get(key) for key in ("tool_call_id", "id", "call_id"))
    call_id = next((value for value in ids if isinstance(value, str) and value), found.id)
    name = data.get("name")
    return Part(
        type="tool_result",
        id=call_id,
        name=name if isinstance(name, str) else found.name,
        output=found.value,
        is_error=found.is_error or data.get("status") == "error",
    )


def _legacy_call(data: dict[str, Any]) -> list[Part]:
    call = data.get("function_call")
    if isinstance(call, dict):
        part = parse_call(call)
        return [part] if part else []
    name = data.get("function_call_name")
    if isinstance(name, str) and name:
        raw = data.get("function_call_arguments_json")
        return [Part(type="tool_call", name=name, arguments=unwrap.arguments(raw)[0])]
    return []


def _message(role: Role, parts: list[Part], name: str = "", finish: str = "") -> Message:
    if role == "user" and parts and all(part.type == "tool_result" for part in parts):
        role = "tool"
    return Message(role=role, parts=tuple(parts), name=name, finish_reason=finish)


def last_text(messages: Sequence[Message], role: Role) -> str:
    """The text of the last message of a role that holds some."""
    for message in reversed(messages):
        if message.role == role and (text := message.text.strip()):
            return text
    return ""


def merge_adjacent(messages: Sequence[Message]) -> tuple[Message, ...]:
    """With assistant messages in a row as one: some libraries record a message per block."""
    merged: list[Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last and last.role == message.role == "assistant":
            parts = list(last.parts + message.parts)
            finish = message.finish_reason or last.finish_reason
            merged[-1] = _message("assistant", parts, last.name, finish)
        else:
            merged.append(message)
    return tuple(merged)


def calls_of(messages: Sequence[Message]) -> list[Part]:
    """The tool calls that the messages ask for, in order."""
    return [part for message in messages for part in message.parts if part.type == "tool_call"]
