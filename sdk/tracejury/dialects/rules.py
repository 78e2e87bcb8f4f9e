"""The vocabulary of the dialect tables: where a canonical field may stand, and in which order.

A dialect is a table of rules and nothing else. For each field the rules of all dialects are
tried in order of rank, so that one span may speak several dialects at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tracejury.trace import SpanKind

Field = Literal[
    "session_id",
    "user_id",
    "agent_name",
    "provider",
    "model",
    "operation",
    "input",
    "output",
    "tool_name",
    "tool_call_id",
    "tool_arguments",
    "tool_result",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "reasoning_apart",
    "cost_usd",
    "cost_part",
    "error_type",
    "error_message",
    "failed",
    "succeeded",
    "failure",
    "system",
    "tool_definitions",
    "request_model",
    "response_id",
    "finish_reasons",
    "params",
    "documents",
    "query",
    "final_output",
    "message_offset",
    "ttft_ms",
    "ttft_s",
    "truncated",
    "redacted",
]

# Ranks: what a vendor says in so many words, the current conventions, events, older flattened
# forms, then the general input and output of any span. Numbers between them order neighbors.
VENDOR = 100
CURRENT = 200
EVENT = 300
LEGACY = 400
GENERIC = 500

# Ranks of kinds: an explicit kind, the operation's name, a dialect's attribute.
EXPLICIT = 1
OPERATION = 2
MARK = 3

# not_schema: only if the value is no JSON Schema; json_value: only if it is an object or array;
# quoted: a JSON string stands for its text; mime: the same if the attribute's mime type is JSON;
# headed: only if the text has a heading in brackets on a line of its own, which is cut off;
# sole: only if the name is the object's only member; transcript: only a text of lines that begin
# with a role (`user: ...`), taken apart into messages; base64: only JSON that was sent as bytes;
# unprefixed: what follows the first slash; tail: what follows the last dot;
# joined: names of tools joined by commas, as calls with the ids and arguments beside them.
Guard = Literal[
    "",
    "not_schema",
    "json_value",
    "quoted",
    "mime",
    "headed",
    "sole",
    "transcript",
    "base64",
    "unprefixed",
    "tail",
    "joined",
]


@dataclass(frozen=True, slots=True)
class Attr:
    """The value of an attribute."""

    key: str


@dataclass(frozen=True, slots=True)
class Inside:
    """The first of these dotted names that stands inside an attribute's JSON."""

    key: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flat:
    """A list spread over attributes: `prefix.0.name`, `prefix.1.name`, ..."""

    prefix: str


@dataclass(frozen=True, slots=True)
class Prefixed:
    """An object spread over attributes: `prefix.name` for all names."""

    prefix: str


@dataclass(frozen=True, slots=True)
class Added:
    """The sum of numbers inside an attribute's JSON; a name ending in `*` stands for a prefix.

    Holds only where the first name is there.
    """

    key: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventKey:
    """An attribute of span events of this name; lists of several events are joined.

    The key `*` stands for all attributes: a list of one object per event.
    """

    event: str
    key: str


@dataclass(frozen=True, slots=True)
class EventFlat:
    """A list or object spread over attributes of span events of this name, below a prefix."""

    event: str
    prefix: str


@dataclass(frozen=True, slots=True)
class EventMessages:
    """Messages recorded as one event each; `roles` maps the event's name to the role."""

    roles: Mapping[str, str]

    def __hash__(self) -> int:
        return hash(tuple(self.roles))


@dataclass(frozen=True, slots=True)
class Together:
    """An object whose members stand in attributes of their own: name and keys, the first set.

    It is a message of this role; of no role, plain data.
    """

    members: tuple[tuple[str, tuple[str, ...]], ...]
    role: str = "assistant"


Source = Attr | Inside | Added | Flat | Prefixed | Together | EventKey | EventFlat | EventMessages


@dataclass(frozen=True, slots=True)
class Rule:
    """One place where a field may stand; `kinds` names the span kinds it holds for (all: none)."""

    field: Field
    source: Source
    rank: int
    kinds: frozenset[str] = frozenset()
    guard: Guard = ""


@dataclass(frozen=True, slots=True)
class KindRule:
    """An attribute that tells the kind of a span: by its value, or (`always`) by being there.

    `member` names the member that tells it, where the value is an object.
    `endings` are tried where the value is none of `values`: class names such as `BM25Retriever`.
    """

    key: str
    rank: int
    values: Mapping[str, SpanKind] = field(default_factory=dict)
    always: SpanKind | None = None
    member: str = ""
    endings: Mapping[str, SpanKind] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventKind:
    """A span event that tells the kind of the span that holds it."""

    event: str
    kind: SpanKind
    rank: int = MARK


@dataclass(frozen=True, slots=True)
class NameRule:
    """A span name that tells the kind; `pattern` is a regular expression, its group the name.

    `overrides` says that the name wins over what the attributes say.
    """

    pattern: str
    kind: SpanKind
    overrides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRule:
    """Whether an emitter's input tokens contain the cached ones; the first rule that fits holds.

    It fits spans of these `scopes` (prefixes; none: any) that have all attributes of `present`
    and none of `absent`; of `providers` (prefixes of the provider's or model's name), if named.
    """

    basis: Literal["inclusive", "exclusive"]
    scopes: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A log or span event that tells of something no span stands for: it is read as a span.

    `duration_ms` names the attribute that says how long it took, up to the event's time.
    Counted only in traces that have no span of the same kind. `joins` names an attribute that
    the event shares with the span it tells of: the event then is one of that span's own.
    """

    event: str
    kind: SpanKind
    duration_ms: str = ""
    joins: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A way to record agents: how to recognize it, and where its fields stand.

    `scopes` and `prefixes` are prefixes of scope names and attribute keys, `services` of the
    resource's service name, `sdks` of its `telemetry.sdk.name`. `answer_tools` are patterns of
    tool names by which the agent gives its answer, `tool_names` patterns of the names that the
    framework gives to tools, their group the tool's own name. `not_providers` are names that stand
    in the place of a provider and are none. `waits` are patterns of names of spans that wait for
    a person. `running_totals`: an agent's totals go on from one run to the next, also over traces.
    `agent_sums`: only an agent's totals are complete, those of the model's spans below are not.
    `runs_apart`: tools run in traces of their own, so what a model asked for is no run by itself.
    `known` are prefixes of attributes that are known and hold no field.

    For readers: `label` is the framework's name, `source` what the table was read from and up to
    which version, `missing` what its library does not record (one sentence each), `enable` the
    lines a user adds to record more.
    """

    name: str
    label: str = ""
    source: str = ""
    scopes: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    sdks: tuple[str, ...] = ()
    kinds: tuple[KindRule, ...] = ()
    event_kinds: tuple[EventKind, ...] = ()
    names: tuple[NameRule, ...] = ()
    rules: tuple[Rule, ...] = ()
    cache: tuple[CacheRule, ...] = ()
    records: tuple[Recorded, ...] = ()
    answer_tools: tuple[str, ...] = ()
    tool_names: tuple[str, ...] = ()
    not_providers: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    running_totals: bool = False
    agent_sums: bool = False
    runs_apart: bool = False
    known: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    enable: str = ""


def attrs(field_: Field, rank: int, *keys: str, kinds: str = "", guard: Guard = "") -> list[Rule]:
    """Rules for attributes that hold one field, the first of them first."""
    return [
        Rule(field_, Attr(key), rank + i, frozenset(kinds.split()), guard)
        for i, key in enumerate(keys)
    ]


def inside(
    field_: Field, rank: int, key: str, *names: str, kinds: str = "", guard: Guard = ""
) -> list[Rule]:
    """A rule for names (dotted paths) inside one attribute's JSON, the first of them first."""
    return [Rule(field_, Inside(key, names), rank, frozenset(kinds.split()), guard)]


def added(field_: Field, rank: int, key: str, *names: str, kinds: str = "") -> list[Rule]:
    """A rule for numbers inside one attribute's JSON that are added up."""
    return [Rule(field_, Added(key, names), rank, frozenset(kinds.split()))]


def flat(field_: Field, rank: int, prefix: str, kinds: str = "") -> list[Rule]:
    """A rule for a flattened list, and one for the same key holding all of it as JSON."""
    chosen = frozenset(kinds.split())
    return [
        Rule(field_, Flat(prefix), rank, chosen),
        Rule(field_, Attr(prefix), rank + 1, chosen, "json_value"),
    ]


def event(field_: Field, rank: int, name: str, key: str, kinds: str = "") -> list[Rule]:
    """A rule for an attribute of span events."""
    return [Rule(field_, EventKey(name, key), rank, frozenset(kinds.split()))]


def event_flat(field_: Field, rank: int, name: str, prefix: str, kinds: str = "") -> list[Rule]:
    """A rule for a list or object spread over attributes of span events."""
    return [Rule(field_, EventFlat(name, prefix), rank, frozenset(kinds.split()))]


def messages(field_: Field, rank: int, roles: Mapping[str, str], kinds: str = "") -> list[Rule]:
    """A rule for messages recorded as events."""
    return [Rule(field_, EventMessages(roles), rank, frozenset(kinds.split()))]
