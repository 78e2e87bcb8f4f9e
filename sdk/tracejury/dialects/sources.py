"""Readers: what a rule's source yields on the spans that have certain attribute keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tracejury.dialects.decode import (
    decode,
    decode_bytes,
    decode_strict,
    looks_like_schema,
    salvage,
    to_float,
    to_name,
    unquoted,
)
from tracejury.dialects.pyrepr import parse_container, parse_repr
from tracejury.dialects.rules import (
    Added,
    Attr,
    EventFlat,
    EventKey,
    EventMessages,
    Inside,
    Prefixed,
    Rule,
    Together,
)

Attributes = Mapping[str, Any]
Events = Sequence[tuple[str, Mapping[str, Any]]]
Reader = Callable[[Attributes, Events], Any]
# The key of an attribute that is taken as it is, or what reads the value.
Place = str | Reader

MAX_SLOTS = 10_000
MAX_SEGMENTS = 24
_HEADING = re.compile(r"\[[A-Z][^\]\n]{0,200}\]\n")
_SPEAKER = re.compile(r"^(system|developer|user|assistant|tool|function): ?", re.MULTILINE)
_EMPTY_LEAVES = frozenset({"role", "type", "name", "finish_reason", "index"})


def attribute_place(rule: Rule) -> Place | None:
    """The place of a rule that names one attribute; None for other sources."""
    source = rule.source
    if isinstance(source, Inside):
        return inside_reader(source, alone=rule.guard == "sole")
    if isinstance(source, Added):
        return added_reader(source)
    if not isinstance(source, Attr):
        return None
    key = source.key
    if rule.guard == "not_schema":
        return lambda attributes, _: None if looks_like_schema(attributes[key]) else attributes[key]
    if rule.guard == "json_value":
        return lambda attributes, _: decode_strict(attributes[key])
    if rule.guard == "quoted":
        return lambda attributes, _: unquoted(attributes[key])
    if rule.guard == "mime":
        return _mime_reader(key)
    if rule.guard == "headed":
        return lambda attributes, _: _below_heading(attributes[key])
    if rule.guard == "joined":
        return _joined_reader(key)
    if rule.guard == "tail":
        return lambda attributes, _: to_name(attributes[key]).rpartition(".")[2]
    if rule.guard == "base64":
        return lambda attributes, _: decode_bytes(attributes[key])
    if rule.guard == "transcript":
        return lambda attributes, _: transcript(attributes[key])
    if rule.guard == "unprefixed":
        return lambda attributes, _: str(attributes[key]).split("/", 1)[-1]
    return key


def _below_heading(value: Any) -> Any:
    match = _HEADING.match(value) if isinstance(value, str) else None
    return value[match.end() :] if match is not None and isinstance(value, str) else None


def _mime_reader(key: str) -> Reader:
    mime_key = key.rsplit(".", 1)[0] + ".mime_type"

    def read(attributes: Attributes, _: Events) -> Any:
        value = attributes[key]
        return unquoted(value) if attributes.get(mime_key) == "application/json" else value

    return read


class _Last:
    """The text decoded last: several rules look inside one attribute, one after the other."""

    both: tuple[str, Any] = ("", "")


def _decoded(value: Any) -> Any:
    """What `decode` gives; the data is shared and not to be changed."""
    if not isinstance(value, str):
        return decode(value)
    text, data = _Last.both
    if text is not value:
        data = decode(value)
        _Last.both = (value, data)
    return data


def _joined_reader(key: str) -> Reader:
    """A reader of calls that stand side by side: names, ids and arguments joined by commas each."""
    beside = key.rsplit(".", 1)[0]

    def read(attributes: Attributes, _: Events) -> Any:
        names = to_name(attributes[key]).split(", ")
        ids = to_name(attributes.get(f"{beside}.call.id")).split(", ")
        texts = to_name(attributes.get(f"{beside}.args"))
        found = decode(f"[{texts}]")
        arguments = found if isinstance(found, list) and len(found) == len(names) else []
        if not names[0] or len(ids) != len(names):
            return None
        return {
            "role": "assistant",
            "tool_calls": [
                {"id": id_, "name": name, "args": arguments[i] if arguments else None}
                for i, (id_, name) in enumerate(zip(ids, names, strict=True))
            ],
        }

    return read


def inside_reader(source: Inside, *, alone: bool = False) -> Reader:
    """A reader of the first name that holds something inside an attribute's JSON.

    `alone`: only of an object that has no other members.
    """
    key = source.key
    paths = tuple(tuple(name.split(".")) for name in source.names)

    def read(attributes: Attributes, _: Events) -> Any:
        data = _decoded(attributes[key])
        if isinstance(data, str):
            data = decode_bytes(data) or salvage(data) or parse_container(data) or parse_repr(data)
        if not isinstance(data, dict) or (alone and len(data) > 1):
            return None
        values = (_walk(data, path) for path in paths)
        return next((value for value in values if value not in (None, "", [], {})), None)

    return read


def added_reader(source: Added) -> Reader:
    """A reader of the sum of numbers inside an attribute's JSON."""
    key, first = source.key, tuple(source.names[0].split("."))
    paths = [tuple(name.split(".")) for name in source.names if not name.endswith("*")]
    prefixes = tuple(name[:-1] for name in source.names if name.endswith("*"))

    def read(attributes: Attributes, _: Events) -> Any:
        data = _decoded(attributes[key])
        if to_float(_walk(data, first)) is None:
            return None
        values = [_walk(data, path) for path in paths]
        if prefixes:
            named = {path[0] for path in paths}
            values += [v for k, v in data.items() if k.startswith(prefixes) and k not in named]
        return sum(number for value in values if (number := to_float(value)) is not None)

    return read


def _walk(data: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        data = decode(data)
        if isinstance(data, list) and name.isdecimal():
            data = data[int(name)] if int(name) < len(data) else None
        elif isinstance(data, dict):
            data = data.get(name)
        else:
            return None
    return data


def prefixed_reader(source: Prefixed, keys: Iterable[str]) -> Reader:
    """A reader of all attributes below a prefix, as one object."""
    skip = len(source.prefix) + 1
    names = tuple((key, key[skip:]) for key in keys)
    return lambda attributes, _: {name: attributes[key] for key, name in names}


def together_reader(source: Together) -> Reader:
    """A reader of an object whose members stand in attributes of their own."""

    def read(attributes: Attributes, _: Events) -> Any:
        found: dict[str, Any] = {}
        for name, keys in source.members:
            value = next((attributes[k] for k in keys if attributes.get(k) not in (None, "")), None)
            if value is not None:
                found[name] = value
        if not found.keys() - {"finish_reason"}:
            return None
        return {"role": source.role, **found} if source.role else found

    return read


def event_reader(source: EventKey) -> Reader:
    """A reader of one attribute of the span's events of a name."""
    name, key = source.event, source.key

    def read(_: Attributes, events: Events) -> Any:
        if key == "*":
            return [dict(attributes) for event, attributes in events if event == name] or None
        values = [
            attributes[key]
            for event, attributes in events
            if event == name and attributes.get(key) not in (None, "")
        ]
        if len(values) < 2:
            return values[0] if values else None
        lists = [data for value in values if isinstance(data := decode(value), list)]
        return [item for data in lists for item in data] if lists else values[-1]

    return read


def event_flat_reader(source: EventFlat) -> Reader:
    """A reader of what is spread below a prefix over the attributes of the last such event."""
    name, prefix = source.event, source.prefix + "."

    def read(_: Attributes, events: Events) -> Any:
        for event, attributes in reversed(events):
            if event == name:
                below = [
                    (segments, key)
                    for key in attributes
                    if key.startswith(prefix)
                    and len(segments := key[len(prefix) :].split(".")) <= MAX_SEGMENTS
                ]
                reader = flat_reader(below) if below else None
                if reader is not None:
                    return reader(attributes, ())
        return None

    return read


def transcript(value: Any) -> list[dict[str, str]] | None:
    """The messages of a text whose lines begin with roles; None for any other value."""
    if not isinstance(value, str) or _SPEAKER.match(value) is None:
        return None
    found = list(_SPEAKER.finditer(value))
    ends = [match.start() for match in found[1:]] + [len(value)]
    spoken = [(m[1], value[m.end() : end].strip()) for m, end in zip(found, ends, strict=True)]
    return [{"role": role, "content": text} for role, text in spoken if text != "None"] or None


def transcript_reader(source: EventKey) -> Reader:
    """A reader of a transcript in an attribute of the span's events of a name."""
    read = event_reader(source)
    return lambda attributes, events: transcript(read(attributes, events))


def messages_reader(source: EventMessages) -> Reader:
    """A reader of the messages that stand in one event each."""
    roles = source.roles

    def read(_: Attributes, events: Events) -> Any:
        found = [
            {"role": roles[event], **attributes} for event, attributes in events if event in roles
        ]
        return found if any(len(message) > 1 for message in found) else None

    return read


class Template:
    """The shape of a flattened list: which attribute key stands where."""

    __slots__ = ("branches", "leaf")

    def __init__(self) -> None:
        self.branches: dict[str, Template] = {}
        self.leaf = ""

    def add(self, segments: list[str], key: str) -> None:
        """Put a key at the place that its segments name."""
        node = self
        for segment in segments:
            node = node.branches.setdefault(segment, Template())
        node.leaf = key


def flat_reader(keys: Sequence[tuple[list[str], str]]) -> Reader | None:
    """A reader that gathers flattened keys into a list; None if they hold no content."""
    if all(segments[-1] in _EMPTY_LEAVES for segments, _ in keys):
        return None
    root = Template()
    for segments, key in keys[:MAX_SLOTS]:
        root.add(segments, key)
    build = _compile(root)
    return lambda attributes, _: build(attributes)


def _compile(node: Template) -> Callable[[Attributes], Any]:
    """A function that builds what the template describes; bounded by `MAX_SEGMENTS`."""
    if not node.branches:
        key = node.leaf
        return lambda attributes: attributes[key]
    if node.leaf:
        node.branches.setdefault("value", Template()).leaf = node.leaf
    if all(name.isdecimal() for name in node.branches):
        ordered = sorted(node.branches, key=int)
        builders = tuple(_compile(node.branches[name]) for name in ordered)
        return lambda attributes: [build(attributes) for build in builders]
    leaves = tuple((name, child.leaf) for name, child in node.branches.items() if _is_leaf(child))
    inner = tuple(
        (name, _compile(child)) for name, child in node.branches.items() if not _is_leaf(child)
    )
    if not inner:
        return lambda attributes: {name: attributes[key] for name, key in leaves}

    def build_object(attributes: Attributes) -> dict[str, Any]:
        data = {name: attributes[key] for name, key in leaves}
        for name, build in inner:
            data[name] = build(attributes)
        return data

    return build_object


def _is_leaf(node: Template) -> bool:
    return not node.branches
