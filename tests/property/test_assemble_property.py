"""Assembly holds on anything that can arrive, in any order."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tracejury.assemble import assemble
from tracejury.assembly.messages import parse_messages
from tracejury.assembly.unwrap import arguments, output
from tracejury.codec import dump_trace, load_trace
from tracejury.dialects import BUILT_IN as DIALECTS
from tracejury.dialects import resolve
from tracejury.dialects.decode import decode
from tracejury.dialects.pyrepr import parse_repr
from tracejury.dialects.rules import Attr, EventKey, EventMessages, Flat, Inside
from tracejury.toolcalls import trace_to_str
from tracejury.trace import LogRecord, SpanEvent, SpanRecord
from tracejury.view import trace_to_api

RULES = [rule for dialect in DIALECTS for rule in dialect.rules]
KEYS = sorted(
    {r.source.key for r in RULES if isinstance(r.source, Attr | Inside)}
    | {k.key for d in DIALECTS for k in d.kinds}
)
PREFIXES = sorted({r.source.prefix for r in RULES if isinstance(r.source, Flat)})
LEAVES = ("message.role", "message.content", "role", "content", "message.tool_calls.0.tool_call.id")
EVENTS = sorted(
    {r.source.event for r in RULES if isinstance(r.source, EventKey)}
    | {name for r in RULES if isinstance(r.source, EventMessages) for name in r.source.roles}
)
KINDS = sorted({value for d in DIALECTS for k in d.kinds for value in k.values})
SHAPES = (
    '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]',
    '[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}]',
    '{"messages":[[{"lc":1,"type":"constructor","id":["x","HumanMessage"],"kwargs":{"content":"q"}}]]}',
    '{"contents":[{"role":"model","parts":[{"function_call":{"name":"f","args":{}}}]}]}',
    '[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}},{"toolResult":{"toolUseId":"c1","content":[{"text":"1"}]}}]',
    '{"generations":[[{"text":"a","message":{"kwargs":{"content":"a"}}}]]}',
    '[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}]',
    "ChatMessage(role=<Role.USER: 'user'>, content=[Text(text='hi')])",
    "content='ok' name='f' tool_call_id='c1'",
    '"quoted"',
    "[" * 200,
    '{"a":' * 100,
    "__REDACTED__",
    "null",
    "-1",
    "NaN",
)

texts = st.one_of(
    st.sampled_from(SHAPES), st.text(max_size=12), st.sampled_from(KINDS), st.just("c1")
)
scalars = st.one_of(
    texts,
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
)
names = st.sampled_from(
    (
        "role",
        "content",
        "parts",
        "type",
        "text",
        "id",
        "name",
        "arguments",
        "messages",
        "tool_calls",
        "message",
        "kwargs",
        "function",
        "output",
        "data",
        "source",
        "lc",
        "input",
        "response",
    )
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=8,
)
encoded = values.map(lambda value: json.dumps(value))
keys = st.one_of(
    st.sampled_from(KEYS),
    st.builds(
        "{}.{}.{}".format, st.sampled_from(PREFIXES), st.integers(0, 12), st.sampled_from(LEAVES)
    ),
    st.text(max_size=8),
)
attributes = st.dictionaries(keys, st.one_of(scalars, values, encoded), max_size=8)
span_names = st.one_of(
    st.sampled_from(("execute_tool f", "invoke_agent a", "chat m", "running tool", "f.tool")),
    st.text(max_size=6),
)
times = st.one_of(st.integers(0, 20), st.integers(0, 2**64 - 1))
ids = st.sampled_from([f"{n:016x}" for n in range(1, 7)])
events = st.builds(
    SpanEvent, name=st.sampled_from(EVENTS), time_ns=st.integers(0, 3), attributes=attributes
)
spans = st.builds(
    SpanRecord,
    trace_id=st.just("a" * 32),
    span_id=ids,
    parent_span_id=st.one_of(st.just(""), ids, st.just("f" * 16)),
    name=span_names,
    start_ns=times,
    end_ns=times,
    status=st.sampled_from(("unset", "ok", "error")),
    status_message=st.text(max_size=4),
    attributes=attributes,
    events=st.lists(events, max_size=2).map(tuple),
    resource=st.dictionaries(st.just("service.name"), scalars, max_size=1),
    scope_name=st.sampled_from(("", "pydantic-ai", "openinference.instrumentation.x", "x")),
)
logs = st.builds(
    LogRecord,
    trace_id=st.just("a" * 32),
    span_id=st.one_of(st.just(""), ids),
    event_name=st.one_of(st.just(""), st.sampled_from(EVENTS)),
    time_ns=st.integers(0, 3),
    body=values,
    attributes=attributes,
)
heavy = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@heavy
@given(attributes, span_names, st.lists(events, max_size=3))
def test_resolving_never_raises_and_gives_clean_values(
    recorded: dict[str, Any], name: str, recorded_events: list[SpanEvent]
) -> None:
    fields = resolve(
        scope_name="s",
        resource={},
        name=name,
        attributes=recorded,
        events=[(event.name, event.attributes) for event in recorded_events],
    )
    for slot in ("input", "output", "tool_arguments", "tool_result"):
        assert getattr(fields, slot) is None or isinstance(getattr(fields, slot), str)
    for slot in ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens"):
        count = getattr(fields, slot)
        assert count is None or (isinstance(count, int) and count >= 0)
    assert fields.cost_usd is None or (math.isfinite(fields.cost_usd) and fields.cost_usd >= 0)
    for slot in ("session_id", "user_id", "agent_name", "provider", "model", "tool_name"):
        assert isinstance(getattr(fields, slot), str)


@heavy
@given(st.lists(spans, max_size=6), st.lists(logs, max_size=3))
def test_assembling_never_raises_and_what_it_gives_can_be_shown(
    arrived: list[SpanRecord], recorded: list[LogRecord]
) -> None:
    trace = assemble(arrived, recorded)
    assert len(trace.spans) == len({span.span_id for span in trace.spans})
    assert trace.latency_ms >= 0
    assert isinstance(trace_to_str(trace), str)
    assert set(trace_to_api(trace)) >= {"kind", "turns", "tool_calls", "usage"}


@heavy
@given(st.data(), st.lists(spans, min_size=1, max_size=6), st.lists(logs, max_size=3))
def test_order_and_repetition_of_arrival_change_nothing(
    data: st.DataObject, arrived: list[SpanRecord], recorded: list[LogRecord]
) -> None:
    again = data.draw(st.permutations(arrived + data.draw(st.lists(st.sampled_from(arrived)))))
    repeated = recorded + recorded[:1]
    one = assemble(arrived, recorded)
    other = assemble(again, data.draw(st.permutations(repeated)))
    assert repr(one) == repr(other)


@heavy
@given(st.lists(spans, max_size=4))
def test_a_trace_survives_being_written_and_read(arrived: list[SpanRecord]) -> None:
    # The receiver writes numbers that are not finite as text, so that none of them arrives here.
    assume("nan" not in repr(arrived) and "inf" not in repr(arrived))
    trace = assemble(arrived)
    data = dump_trace(trace)
    assert dump_trace(load_trace(data)) == data


@heavy
@given(st.one_of(values, encoded, texts), st.sampled_from(("user", "assistant")))
def test_no_recorded_value_breaks_the_readers_of_content(value: Any, role: Any) -> None:
    decode(value)
    arguments(value)
    output(value)
    for message in parse_messages(value, role):
        assert message.role in ("system", "user", "assistant", "tool")
        assert isinstance(message.text, str)


@given(st.text(alphabet="AaTx(=)[]{}<>:',. 1\\\n", max_size=60))
def test_no_text_breaks_the_reader_of_python_objects(text: str) -> None:
    parse_repr("A(x=" + text)
    parse_repr(text)
