"""A plan of traffic at its worst: what arrives when, and what there must be of it in the end."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.helpers.store import START_NS, span_row

SECOND_NS = 1_000_000_000
MINUTE_S = 60.0
SPREAD_S = 10 * MINUTE_S
TAIL_S = 10 * MINUTE_S
LATE_S = (12 * MINUTE_S, 30 * MINUTE_S)
SKEW_S = 3600.0

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """How often things go wrong."""

    late: float = 0.05
    duplicate: float = 0.05
    rootless: float = 0.1
    restated: float = 0.1
    marked: float = 0.02
    in_session: float = 0.5


@dataclass(slots=True, kw_only=True)
class Expected:
    """What must be known of a trace in the end."""

    session_id: str
    has_root: bool
    spans: set[str] = field(default_factory=set)
    tools: int = 0


@dataclass(slots=True, kw_only=True)
class Plan:
    """The spans by second of arrival, and what they make up."""

    arrivals: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    expected: dict[str, Expected] = field(default_factory=dict)

    @property
    def sessions(self) -> Mapping[str, set[str]]:
        """The trace ids of each session."""
        found: dict[str, set[str]] = defaultdict(set)
        for trace_id, expected in self.expected.items():
            if expected.session_id:
                found[expected.session_id].add(trace_id)
        return found

    def add(self, at_s: float, row: Row) -> None:
        """Let a span arrive."""
        self.arrivals[int(at_s)].append(row)


def make_plan(seed: int, traces: int, chances: Chances) -> Plan:
    """Return the traffic of this seed; the same for the same arguments."""
    random, plan = Random(seed), Plan()
    for number in range(1, traces + 1):
        _add_trace(plan, random, number, traces, chances)
    return plan


def _add_trace(plan: Plan, random: Random, number: int, traces: int, chances: Chances) -> None:
    trace_id = f"{number:032x}"
    began_s, tail_s = random.uniform(0, SPREAD_S), random.choice([1, 20, 120, TAIL_S])
    in_session = random.random() < chances.in_session
    session_id = f"chat-{random.randrange(max(1, traces // 8))}" if in_session else ""
    skew_ns = int(random.uniform(-SKEW_S, SKEW_S) * SECOND_NS)
    rows = list(_spans(random, trace_id, session_id, skew_ns))
    has_root = random.random() >= chances.rootless
    expected = Expected(session_id=session_id, has_root=has_root)
    plan.expected[trace_id] = expected
    for row in rows[0 if has_root else 1 :]:
        at_s = began_s + random.uniform(0, tail_s)
        if random.random() < chances.late:
            at_s += random.uniform(*LATE_S)
        if random.random() < chances.restated:
            plan.add(max(0.0, at_s - random.uniform(0, tail_s)), _not_ended(row))
        plan.add(at_s, {**row, "marker": random.random() < chances.marked})
        while random.random() < chances.duplicate:
            plan.add(at_s + random.uniform(0, LATE_S[1]), row)
        expected.spans.add(row["span_id"])
        expected.tools += row["kind"] == "tool"


def _spans(random: Random, trace_id: str, session_id: str, skew_ns: int) -> Iterator[Row]:
    """Yield a root and spans below it, at least one, by an agent whose clock is wrong."""
    for n in range(random.randint(3, 6)):
        start_ns = START_NS + skew_ns + n * SECOND_NS
        end_ns = start_ns + random.randrange(SECOND_NS)
        operation, kind = ("invoke_agent", "agent") if n == 0 else ("execute_tool", "tool")
        attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.tool.name" if n else "gen_ai.agent.name": f"name-{n}",
            **({"gen_ai.tool.call.id": f"call-{n}"} if n else {}),
            **({"session.id": session_id} if session_id else {}),
        }
        yield span_row(
            trace_id=trace_id,
            span_id=f"{n + 1:016x}",
            parent_span_id=f"{1:016x}" if n else "",
            name=operation,
            kind=kind,
            attributes=json.dumps(attributes),
            session_id=session_id or None,
            start_time=start_ns,
            start_time_unix_nano=start_ns,
            end_time=end_ns,
            end_time_unix_nano=end_ns,
        )


def _not_ended(row: Row) -> Row:
    """Return the span as an exporter sends it at its start: the same id, other content."""
    fields = {k: v for k, v in row.items() if not k.startswith("content_hash")}
    return span_row(**{**fields, "end_time": None, "end_time_unix_nano": 0, "status": "unset"})
