"""A session as one trace: the conversation that its traces make up together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from tracejury.assembly.totals import sum_usage
from tracejury.trace import NO_COST, Cost, Flags, Message, Part, Trace, TraceKind

RUNS: Final[tuple[TraceKind, ...]] = ("agent", "llm", "tool")
_KINDS: Final[tuple[TraceKind, ...]] = (*RUNS, "setup", "evaluator", "other")


def session_trace(
    traces: Iterable[Trace], *, session_id: str = "", revision: int = 1, is_cut: bool = False
) -> Trace:
    """What evaluators judge of a session: its runs in order of start, as one trace.

    Its id is that of the session. Turns, calls, documents and spans follow one another; what a
    prompt repeats of earlier traces stands in `messages` once; tokens, cost and errors add up.
    Traces that are no run (setup, evaluations) only count where there is no run. `is_cut` says
    that the session has more traces than these, which makes it truncated.
    """
    ordered = sorted(traces, key=lambda t: (not t.start_ns, t.start_ns, t.trace_id))
    runs = [t for t in ordered if t.kind in RUNS] or ordered
    return Trace(
        trace_id=session_id,
        session_id=session_id,
        revision=revision,
        name=_common(t.name for t in runs),
        kind=session_kind(t.kind for t in runs),
        flags=_flags(runs, is_cut=is_cut),
        input_text=next((t.input_text for t in runs if t.input_text), ""),
        output_text=next((t.output_text for t in reversed(runs) if t.output_text), ""),
        agent_name=_common(t.agent_name for t in runs),
        service_name=_common(t.service_name for t in runs),
        user_id=_common(t.user_id for t in runs),
        start_ns=min((t.start_ns for t in runs if t.start_ns), default=0),
        end_ns=max((max(t.end_ns, t.start_ns) for t in runs), default=0),
        has_error=any(t.has_error for t in runs),
        error_count=sum(t.error_count for t in runs),
        usage=sum_usage(t.usage for t in runs),
        cost=_cost(runs),
        models=tuple(dict.fromkeys(chain.from_iterable(t.models for t in runs))),
        turns=tuple(chain.from_iterable(t.turns for t in runs)),
        tool_calls=tuple(chain.from_iterable(t.tool_calls for t in runs)),
        llm_calls=tuple(chain.from_iterable(t.llm_calls for t in runs)),
        messages=tuple(_conversation(t.messages for t in runs)),
        documents=tuple(chain.from_iterable(t.documents for t in runs)),
        spans=tuple(chain.from_iterable(t.spans for t in runs)),
        dialects=tuple(dict.fromkeys(chain.from_iterable(t.dialects for t in runs))),
        diagnostics=_diagnostics(runs, is_cut=is_cut),
    )


def session_kind(kinds: Iterable[str]) -> TraceKind:
    """The kind of a session whose traces are of these kinds: what most of an agent is in it."""
    found = set(kinds)
    return next((kind for kind in _KINDS if kind in found), "other")


def _common(values: Iterable[str]) -> str:
    """What all traces that say anything say alike; "" where they differ."""
    found = {value for value in values if value}
    return found.pop() if len(found) == 1 else ""


def _flags(runs: Sequence[Trace], *, is_cut: bool) -> Flags:
    return Flags(
        redacted=any(t.flags.redacted for t in runs),
        truncated=is_cut or any(t.flags.truncated for t in runs),
        not_captured=bool(runs) and all(t.flags.not_captured for t in runs),
    )


def _cost(runs: Sequence[Trace]) -> Cost:
    """The sum; unknown where a run that used tokens has no known cost."""
    if any(t.cost.usd is None and t.usage.total_tokens for t in runs):
        return NO_COST
    known = [t.cost for t in runs if t.cost.usd is not None]
    if not known:
        return NO_COST
    estimated = any(cost.source == "estimated" for cost in known)
    amount = sum(cost.usd or 0.0 for cost in known)
    return Cost(usd=amount, source="estimated" if estimated else "reported")


def _diagnostics(runs: Sequence[Trace], *, is_cut: bool) -> tuple[str, ...]:
    own = ["no_traces"] if not runs else ["session_cut"] if is_cut else []
    return tuple(dict.fromkeys(chain(own, chain.from_iterable(t.diagnostics for t in runs))))


def _conversation(parts: Iterable[Sequence[Message]]) -> Iterator[Message]:
    """The messages of one trace after the other, each without the history it begins with."""
    said: list[Hashable] = []
    instructions: set[Hashable] = set()
    for messages in parts:
        spoken = [_key(m) for m in messages if m.role != "system"]
        repeated = _overlap(said[-len(spoken) :] if spoken else [], spoken)
        if _answers(messages).isdisjoint(spoken[:repeated]):
            repeated = 0
        said.extend(spoken[repeated:])
        for message in messages:
            if message.role != "system":
                repeated -= 1
                if repeated < 0:
                    yield message
            elif (key := _key(message)) not in instructions:
                instructions.add(key)
                yield message


def _answers(messages: Iterable[Message]) -> set[Hashable]:
    """What was not said by the user: only an answer shows that a beginning is history."""
    return {_key(m) for m in messages if m.role in ("assistant", "tool")}


def _overlap(said: Sequence[Hashable], spoken: Sequence[Hashable]) -> int:
    """How many of the first messages spoken are the last ones said.

    Source: Knuth, Morris, Pratt, Fast Pattern Matching in Strings (1977); linear in both.
    """
    borders = [0] * len(spoken)
    for n in range(1, len(spoken)):
        borders[n] = _longer(spoken, borders, borders[n - 1], spoken[n])
    matched = 0
    for key in said:
        if matched == len(spoken):
            matched = borders[matched - 1]
        matched = _longer(spoken, borders, matched, key)
    return matched


def _longer(spoken: Sequence[Hashable], borders: Sequence[int], matched: int, key: Hashable) -> int:
    """How much of `spoken` matches after one more key."""
    while matched and spoken[matched] != key:
        matched = borders[matched - 1]
    return matched + 1 if spoken[matched] == key else matched


def _key(message: Message) -> Hashable:
    """What tells a message from others, however a prompt wrote it down again."""
    return message.role, message.text.strip(), tuple(_tool_parts(message.parts))


def _tool_parts(parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    return ((p.type, p.id or p.name) for p in parts if p.type in ("tool_call", "tool_result"))
