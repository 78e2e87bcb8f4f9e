"""Messages of a conversation, from every shape in which frameworks record them."""

from __future__ import annotations

from typing import Any, Final

from tracejury.assembly.message import (
    MAX_DEPTH,
    is_message,
    is_role,
    make_message,
    parse_message,
    plain_message,
    to_role,
)
from tracejury.assembly.parts import parse_content, parse_part, part_type
from tracejury.assembly.spoken import last_text
from tracejury.dialects.decode import PLACEHOLDERS, decode, to_text
from tracejury.dialects.pyrepr import LOOKS_LIKE, parse_repr
from tracejury.trace import Message, Part, Role

MAX_MESSAGES = 20_000

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
_PART_ROLES: Final[dict[Any, Role]] = {
    "system-prompt": "system",
    "user-prompt": "user",
    "tool-return": "tool",
    "retry-prompt": "tool",
}
_QUESTIONS: Final = ("input", "user_input", "query", "question", "user_msg", "message")
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


def _collect(value: Any, role: Role, found: list[Message], depth: int) -> None:
    if depth > MAX_DEPTH or len(found) > MAX_MESSAGES:
        return
    if isinstance(value, str):
        value = _decoded(value)
    if isinstance(value, str):
        if value not in PLACEHOLDERS:
            found.append(Message(role=role, parts=(Part(type="text", text=value),)))
    elif isinstance(value, list):
        _collect_list(value, role, found, depth)
    elif isinstance(value, dict):
        _collect_object(value, role, found, depth)


def _decoded(text: Any) -> Any:
    """The data behind JSON or the text of a Python object; None where the latter was cut off."""
    value = decode(text)
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
            found.append(make_message(speaker, pending))
            pending.clear()

    for raw in items:
        item = raw if isinstance(raw, dict) else _decoded(raw)
        part = None
        if isinstance(item, dict):
            if (inner := _messages_inside(item)) and depth < MAX_DEPTH:
                flush()
                _collect_list(inner, role, found, depth + 1)
                continue
            message = plain_message(item)
            if message is not None or is_message(item):
                if pending:
                    flush()
                message = message or parse_message(item, role, depth)
                if message is not None:
                    found.append(message)
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
        elif (pair := _pair(item)) is not None:
            flush()
            found.append(pair)
        elif not isinstance(item, str):
            flush()
            _collect(item, role, found, depth + 1)
    flush()


def _pair(item: Any) -> Message | None:
    """The message that a pair of role and text is, as LangChain takes them: `["user", "Hi"]`."""
    if not isinstance(item, list) or len(item) != 2 or not is_role(item[0]):
        return None
    text = item[1]
    if not isinstance(text, str) or not text:
        return None
    return make_message(to_role(item[0], "user"), [Part(type="text", text=text)])


def _messages_inside(item: dict[str, Any]) -> list[Any]:
    """The messages that stand as JSON in the text of this one, as in logs of Amazon."""
    text = item.get("content")
    if not isinstance(text, str) or not text.startswith('[{"role"'):
        return []
    data = decode(text)
    found = data if isinstance(data, list) else []
    return found if all(isinstance(m, dict) and "parts" in m for m in found) else []


def _part_role(part: Part, role: Role) -> Role:
    if part.type in ("tool_call", "reasoning"):
        return "assistant"
    return "tool" if part.type == "tool_result" else role


def _collect_object(data: dict[str, Any], role: Role, found: list[Message], depth: int) -> None:
    if is_message(data):
        if (message := parse_message(data, role, depth)) is not None:
            found.append(message)
    elif "kind" in data and isinstance(data.get("parts"), list):
        _collect_model_message(data["parts"], found)
    elif part_type(data):
        _collect_list([data], role, found, depth)
    else:
        _collect_container(data, role, found, depth)


def _collect_model_message(parts: list[Any], found: list[Message]) -> None:
    """The messages that one request or response of Pydantic AI's own format holds."""
    for block in parts:
        part = parse_part(block) if part_type(block) else None
        if part is None:
            continue
        role = _PART_ROLES.get(block.get("part_kind"), "assistant")
        role = "user" if block.get("part_kind") == "retry-prompt" and not part.name else role
        if found and found[-1].role == role == "assistant":
            found[-1] = make_message(role, [*found[-1].parts, part])
        else:
            found.append(make_message(role, [part]))


def _collect_container(data: dict[str, Any], role: Role, found: list[Message], depth: int) -> None:
    """Messages inside an envelope; an object that is none is itself the content."""
    before = len(found)
    for key in _OUTPUT_KEYS if role == "assistant" else _INPUT_KEYS:
        value = data.get(key)
        if value is None or value == "" or isinstance(value, bool | int | float):
            continue
        _collect(value, role, found, depth + 1)
        if len(found) > before:
            if key == "chat_history":
                _collect_question(data, role, found)
            break
    if len(found) == before:
        _collect_leftover(data, role, found, depth)
    elif role != "assistant" and not any(m.role == "system" for m in found[before:]):
        system = system_message(_system_of(data))
        if system is not None:
            found.insert(before, system)


def _collect_question(data: dict[str, Any], role: Role, found: list[Message]) -> None:
    """The question that stands beside the history of a conversation."""
    text = next((t for k in _QUESTIONS if isinstance(t := data.get(k), str) and t), "")
    if text and text.strip() != last_text(found, "user"):
        found.append(Message(role=role, parts=(Part(type="text", text=text),)))


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
