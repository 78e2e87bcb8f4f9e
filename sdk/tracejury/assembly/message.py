"""One message, from the object that a framework records for it."""

from __future__ import annotations

from typing import Any, Final

from tracejury.assembly import unwrap
from tracejury.assembly.parts import first_text, parse_call, parse_content, part_type, plain_content
from tracejury.dialects.decode import decode
from tracejury.trace import Message, Part, Role

MAX_DEPTH = 12

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
_CONTENTS: Final = ("parts", "content", "_content", "contents", "blocks")
_PLAIN: Final = frozenset({"role", "parts", "content", "finish_reason"})
_RESULT_IDS: Final = ("tool_call_id", "id", "call_id")
_ENVELOPES: Final = frozenset({"lc", "data", "message"})


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
    if not isinstance(value, str):
        return default
    return _ROLES.get(value) or _ROLES.get(value.lower(), default)


def is_role(value: Any) -> bool:
    """Whether the value is a library's word for a role."""
    return isinstance(value, str) and value in _ROLES


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


def plain_message(data: dict[str, Any]) -> Message | None:
    """What `parse_message` gives for a message of a role and text, as most are; else None."""
    inner = data["message"] if len(data) == 1 and "message" in data else data
    if not isinstance(inner, dict) or not inner.keys() <= _PLAIN:
        return None
    recorded = inner.get("role")
    role = _ROLES.get(recorded) if isinstance(recorded, str) else None
    if role is None or role == "tool":
        return None
    parts = plain_content(inner["parts"] if "parts" in inner else inner.get("content"))
    if parts is None:
        return None
    finish = finish_reason(inner["finish_reason"]) if "finish_reason" in inner else ""
    return Message(role=role, parts=parts, finish_reason=finish)


def parse_message(data: dict[str, Any], role: Role, depth: int) -> Message | None:
    """One message from an object; envelopes around it are opened."""
    finish = finish_reason(data["finish_reason"]) if "finish_reason" in data else ""
    wrapped = not _ENVELOPES.isdisjoint(data) or isinstance(data.get("content"), dict)
    inner = _opened(data) if wrapped else data
    if inner is not data:
        if isinstance(inner, str):
            inner = {"content": inner}
        if depth > MAX_DEPTH:
            return None
        inner = {"role": data["role"], **inner} if "role" in data and "role" not in inner else inner
        if "tool_calls" in data and "tool_calls" not in inner:
            inner = {**inner, "tool_calls": data["tool_calls"]}
        message = parse_message(inner, role, depth + 1)
        if message is None or message.finish_reason or not finish:
            return message
        return make_message(message.role, list(message.parts), message.name, finish)
    spoken = _role_of(data, role)
    parts = _parts_of(data, spoken)
    if not finish:
        meta = data.get("meta", data.get("_meta"))
        finish = finish_reason(meta.get("finish_reason")) if isinstance(meta, dict) else ""
    if not parts and not finish:
        return None
    name = data.get("name")
    return make_message(spoken, parts, name if isinstance(name, str) else "", finish)


def _opened(data: dict[str, Any]) -> Any:
    """The message inside an envelope of LangChain, OpenInference, Gemini or a choice; else it."""
    if "lc" in data and isinstance(data.get("kwargs"), dict):
        names = data.get("id")
        kind = names[-1] if isinstance(names, list) and names and isinstance(names[-1], str) else ""
        return {"role": _class_role(kind), **data["kwargs"]}
    if isinstance(data.get("data"), dict) and "content" in data["data"]:
        return {"role": data.get("type"), **data["data"]}
    content = data.get("content")
    if isinstance(content, dict) and "type" not in content:
        return _inside(content, data)
    message = decode(data.get("message"))
    if isinstance(message, list):
        return {"role": data.get("role", "assistant"), "content": message}
    return message if isinstance(message, dict | str) and message else data


def _inside(content: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """The message that stands whole in another's content, as in logs of Google and Amazon."""
    if isinstance(content.get("parts"), list):
        return content
    spoken = content.get("content", content.get("message"))
    return {**content, "role": data.get("role"), "content": spoken} if spoken else data


def _class_role(kind: str) -> str:
    return kind.removesuffix("Chunk") if kind.endswith("Chunk") else kind


def _role_of(data: dict[str, Any], default: Role) -> Role:
    role = data.get("role", data.get("_role"))
    if isinstance(role, str):
        spoken = to_role(role, default)
        return "tool" if spoken == "user" and data.get("tool_call_id") else spoken
    if isinstance(data.get("source"), str):
        return to_role(data["source"], "assistant")
    return to_role(data.get("type"), default)


def _parts_of(data: dict[str, Any], role: Role) -> list[Part]:
    parts: list[Part] = []
    for key in _CONTENTS:
        content = data.get(key)
        if content not in (None, "", []):
            parts = _contents(data, content, role)
            break
    calls = decode(data.get("tool_calls")) or _additional_calls(data)
    if calls and isinstance(calls, list):
        known = {part.id for part in parts if part.type == "tool_call" and part.id}
        found = (parse_call(call) for call in calls if isinstance(call, dict))
        parts.extend(part for part in found if part is not None and part.id not in known)
    else:
        parts.extend(_legacy_call(data))
    return parts


def _additional_calls(data: dict[str, Any]) -> Any:
    """The calls where LangChain and LlamaIndex keep what the provider sent."""
    return decode(_additional(data).get("tool_calls"))


def _contents(data: dict[str, Any], content: Any, role: Role) -> list[Part]:
    if role == "tool":
        blocks = decode(content)
        if not isinstance(blocks, list) or "tool_result" not in map(part_type, blocks):
            return [_result_of(data, content)]
        content = blocks
    return parse_content(content)


def _result_of(data: dict[str, Any], content: Any) -> Part:
    found = unwrap.output(content)
    name = data.get("name")
    return Part(
        type="tool_result",
        id=first_text(data, _RESULT_IDS) or _additional_id(data) or found.id,
        name=name if isinstance(name, str) else found.name,
        output=found.value,
        is_error=found.is_error or data.get("status") == "error",
    )


def _additional(data: dict[str, Any]) -> dict[str, Any]:
    """What LangChain and LlamaIndex keep beside a message's own fields."""
    found = data.get("additional_kwargs")
    return found if isinstance(found, dict) else {}


def _additional_id(data: dict[str, Any]) -> str:
    return first_text(_additional(data), _RESULT_IDS)


def _legacy_call(data: dict[str, Any]) -> list[Part]:
    call = data.get("function_call")
    if isinstance(call, dict):
        part = parse_call(call)
        return [part] if part else []
    name = data.get("function_call_name")
    if isinstance(name, str) and name:
        raw = data.get("function_call_arguments_json")
        return [Part(type="tool_call", name=name, arguments=unwrap.asked_arguments(raw))]
    return []


def make_message(role: Role, parts: list[Part], name: str = "", finish: str = "") -> Message:
    """A message; one of the user's that holds only tool results is the tool's."""
    if role == "user" and parts and parts[0].type == "tool_result":
        role = "tool" if all(part.type == "tool_result" for part in parts) else role
    return Message(role=role, parts=tuple(parts), name=name, finish_reason=finish)
