"""Parts of messages, from the content blocks of every provider."""

from __future__ import annotations

from typing import Any, Final

from tracejury.assembly import unwrap
from tracejury.dialects.decode import decode
from tracejury.trace import Part, PartType

_TYPES: Final[dict[str, PartType]] = {
    **dict.fromkeys(("text", "input_text", "output_text", "summary_text"), "text"),
    **dict.fromkeys(("reasoning", "thinking", "redacted_thinking"), "reasoning"),
    **dict.fromkeys(
        (
            "tool_call",
            "tool_use",
            "function_call",
            "function",
            "server_tool_call",
            "server_tool_use",
            "mcp_tool_use",
            "custom_tool_call",
            "builtin_tool_call",
        ),
        "tool_call",
    ),
    **dict.fromkeys(
        (
            "tool_call_response",
            "tool_result",
            "function_call_output",
            "custom_tool_call_output",
            "server_tool_call_response",
            "mcp_tool_result",
            "tool_call_result",
            "web_search_tool_result",
            "tool_return",
            "builtin_tool_return",
        ),
        "tool_result",
    ),
    **dict.fromkeys(
        (
            "image",
            "image_url",
            "input_image",
            "audio",
            "input_audio",
            "video",
            "document",
            "file",
            "input_file",
            "blob",
            "uri",
            "media",
        ),
        "media",
    ),
    "refusal": "refusal",
}
# How Pydantic AI writes the parts of its own messages.
_PART_KINDS: Final[dict[str, PartType]] = {
    **dict.fromkeys(("system-prompt", "user-prompt", "text"), "text"),
    **dict.fromkeys(("tool-call", "builtin-tool-call"), "tool_call"),
    **dict.fromkeys(("tool-return", "builtin-tool-return", "retry-prompt"), "tool_result"),
    "thinking": "reasoning",
}
_HOSTED: Final = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "computer_call",
        "mcp_call",
        "image_generation_call",
        "local_shell_call",
    }
)
_NAMED: Final[dict[str, PartType]] = {**_TYPES, **dict.fromkeys(_HOSTED, "tool_call")}
# Blocks without a type: the key says what they are.
_KEYED: Final[dict[str, PartType]] = {
    "toolUse": "tool_call",
    "functionCall": "tool_call",
    "function_call": "tool_call",
    "tool_call": "tool_call",
    "toolRequest": "tool_call",
    "toolResult": "tool_result",
    "functionResponse": "tool_result",
    "function_response": "tool_result",
    "tool_call_result": "tool_result",
    "toolResponse": "tool_result",
    "inline_data": "media",
    "inlineData": "media",
    "file_data": "media",
    "fileData": "media",
    "image": "media",
    "reasoningContent": "reasoning",
    "message_content": "other",
}
_TEXT_KEYS: Final = frozenset({"text", "thought", "thoughtSignature", "thought_signature"})
_CALLS = ("tool_call", "toolUse", "functionCall", "function_call", "toolRequest", "function")
_RESULTS = (
    *("toolResult", "functionResponse", "function_response", "tool_call_result"),
    "toolResponse",
)
_CALL_IDS = ("call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "id", "ref")
_RESULT_IDS = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id", "id", "ref")
_NAMES = ("name", "toolName", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "tool_kwargs")
_OUTPUTS = ("response", "result", "output", "content")
_TEXTS = ("text", "content", "refusal")
_REASONING = ("content", "text", "thinking", "reasoning", "summary", "reasoningText")


def part_type(block: Any) -> PartType | None:
    """What kind of part the block is; None if it is no part of a message."""
    if not isinstance(block, dict):
        return None
    kind = block.get("type", block.get("part_kind", block.get("block_type")))
    if isinstance(kind, str):
        if "part_kind" in block and (written := _PART_KINDS.get(kind)) is not None:
            return written
        found = _NAMED.get(kind) or _TYPES.get(kind.lower().replace("-", "_"))
        if found is not None:
            return found
    if not _KEYED.keys().isdisjoint(block):
        for key, part in _KEYED.items():
            if isinstance(block.get(key), dict):
                return part
    if isinstance(block.get("text"), str) and _set_keys(block) <= _TEXT_KEYS:
        return "reasoning" if block.get("thought") is True else "text"
    return None


def _set_keys(block: dict[str, Any]) -> set[str]:
    """The keys that hold something: some libraries write all that a block could have."""
    return {key for key, value in block.items() if value is not None}


def parse_part(block: dict[str, Any]) -> Part | None:
    """The part that the block is; None if it is empty."""
    inner = block.get("message_content")
    if isinstance(inner, dict):
        return parse_part({k: v for k, v in inner.items() if k != "message_content"})
    kind = part_type(block)
    if kind == "text" or kind == "refusal":
        text = first_text(block, _TEXTS)
        return Part(type=kind, text=text) if text else None
    if kind == "tool_call":
        return parse_call(block)
    if kind == "tool_result":
        return parse_result(block)
    if kind == "reasoning":
        return _reasoning(block)
    return Part(type=kind or "other", raw=block)


def parse_call(block: dict[str, Any]) -> Part | None:
    """The tool call that the block is, whatever its shape; None if it has no name."""
    outer = block
    for key in _CALLS:
        if isinstance(block.get(key), dict):
            block = block[key]
            break
    if isinstance(block.get("function"), dict):
        outer, block = block, block["function"]
    name = first_text(block, _NAMES) or _hosted_name(outer)
    if not name:
        return None
    call_id = first_text(block, _CALL_IDS) or first_text(outer, _CALL_IDS)
    raw = next((block[key] for key in _ARGUMENTS if block.get(key) is not None), None)
    return Part(type="tool_call", id=call_id, name=name, arguments=unwrap.asked_arguments(raw))


def _hosted_name(block: dict[str, Any]) -> str:
    kind = block.get("type")
    return kind.removesuffix("_call") if isinstance(kind, str) and kind in _HOSTED else ""


def parse_result(block: dict[str, Any]) -> Part:
    """The tool result that the block is, whatever its shape."""
    for key in _RESULTS:
        if isinstance(block.get(key), dict):
            block = block[key]
            break
    origin = block.get("origin") if isinstance(block.get("origin"), dict) else {}
    raw = next((block[key] for key in _OUTPUTS if block.get(key) is not None), None)
    found = unwrap.output(raw)
    failed = (
        found.is_error
        or block.get("is_error") is True
        or block.get("isError") is True
        or block.get("error") is True
        or block.get("status") == "error"
    )
    return Part(
        type="tool_result",
        id=first_text(block, _RESULT_IDS) or first_text(origin, ("id",)) or found.id,
        name=first_text(block, _NAMES) or first_text(origin, _NAMES) or found.name,
        output=found.value,
        is_error=failed,
    )


def _reasoning(block: dict[str, Any]) -> Part | None:
    block = block["reasoningContent"] if isinstance(block.get("reasoningContent"), dict) else block
    for key in _REASONING:
        value = block.get(key)
        if isinstance(value, dict):
            value = value.get("text")
        if isinstance(value, list):
            value = "\n".join(
                str(item["text"]) for item in value if isinstance(item, dict) and "text" in item
            )
        if isinstance(value, str) and value:
            return Part(type="reasoning", text=value)
    return None


def first_text(block: Any, keys: tuple[str, ...]) -> str:
    """The first text that the object holds under the keys, "" if there is none."""
    if isinstance(block, dict):
        for key in keys:
            value = block.get(key)
            if isinstance(value, str) and value:
                return value
    return ""


def plain_content(value: Any) -> tuple[Part, ...] | None:
    """The parts of a message's content if it is plain text or blocks of it, else None."""
    if isinstance(value, str):
        return (Part(type="text", text=value),) if value and value[0] not in "[{" else None
    if not isinstance(value, list) or not value:
        return None
    parts = []
    for block in value:
        if not isinstance(block, dict) or len(block) != 2 or block.get("type") != "text":
            return None
        text = block.get("text", block.get("content"))
        if not text or not isinstance(text, str):
            return None
        parts.append(Part(type="text", text=text))
    return tuple(parts)


def parse_content(value: Any) -> list[Part]:
    """The parts of a message's content: text, or a list of blocks (also as JSON text)."""
    if isinstance(value, str):
        blocks = decode(value) if value[:1] in ("[", "{") else value
        if isinstance(blocks, dict) and part_type(blocks):
            blocks = [blocks]
        if not isinstance(blocks, list) or not blocks or not all(map(part_type, blocks)):
            return [Part(type="text", text=value)] if value else []
        value = blocks
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return []
    return [part for item in value if (part := _content_item(item)) is not None]


def _content_item(item: Any) -> Part | None:
    if isinstance(item, str):
        return Part(type="text", text=item) if item else None
    return parse_part(item) if isinstance(item, dict) else None
