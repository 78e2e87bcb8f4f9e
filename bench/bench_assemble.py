"""How long spans take to resolve and traces to assemble: synthetic ones and recorded ones.

Usage: python bench/bench_assemble.py
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tracejury.assemble import assemble
from tracejury.codec import dump_trace, load_trace
from tracejury.dialects import BUILT_IN, resolve
from tracejury.dialects.active import Tables
from tracejury.dialects.plan import compile_plan
from tracejury.trace import LogRecord, SpanEvent, SpanRecord

ROOT = Path(__file__).parents[1]
TRACES = 100
ROUNDS = 5
Arrived = tuple[Sequence[SpanRecord], Sequence[LogRecord]]


def load_spans(dialect: str) -> list[list[SpanRecord]]:
    """The load generator's traces as records."""
    import otlp_load

    random_ = random.Random(7)
    return [
        _records(otlp_load.trace_spans(random_, dialect, n), otlp_load.RES) for n in range(TRACES)
    ]


def recorded_traces() -> list[Arrived]:
    """The traces of all recorded exports of the test corpus."""
    sys.path.insert(0, str(ROOT))
    from tests.helpers.corpus import CORPUS, case_names, read_case

    found: list[Arrived] = []
    for name in case_names():
        spans, logs = read_case(CORPUS / "captures" / name)
        found += [
            (
                [span for span in spans if span.trace_id == trace_id],
                [log for log in logs if log.trace_id == trace_id],
            )
            for trace_id in dict.fromkeys(span.trace_id for span in spans)
        ]
    return found


def _records(items: Any, resource: dict[str, Any]) -> list[SpanRecord]:
    return [
        SpanRecord(
            trace_id=trace_id.hex(),
            span_id=span_id.hex(),
            parent_span_id=parent_id.hex(),
            name=name,
            start_ns=10**18 + start,
            end_ns=10**18 + end,
            status="ok",
            attributes=attributes,
            events=tuple(SpanEvent(name=n, time_ns=t, attributes=a) for n, t, a in events),
            resource=resource,
            scope_name="bench.agent",
        )
        for trace_id, span_id, parent_id, (
            name,
            _,
            _,
            start,
            end,
            _,
            attributes,
            _,
            events,
        ) in items
    ]


def best_us(run: Callable[[], object], count: int) -> float:
    """The best processor time of several rounds, microseconds per item."""
    run()
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times) / count * 1e6


def resolve_us(spans: Sequence[SpanRecord]) -> float:
    """Microseconds to resolve one span, its plan known."""
    events = {id(s): [(e.name, e.attributes) for e in s.events] for s in spans}

    def resolve_all() -> None:
        for span in spans:
            resolve(
                scope_name=span.scope_name,
                resource=span.resource,
                name=span.name,
                attributes=span.attributes,
                events=events[id(span)],
            )

    return best_us(resolve_all, len(spans))


def measure(traces: Sequence[Arrived]) -> dict[str, float]:
    """What traces cost, microseconds per span or trace."""
    spans = [span for arrived, _ in traces for span in arrived]
    assembled = [assemble(*arrived) for arrived in traces]
    dumped = [dump_trace(trace) for trace in assembled]
    assemble_us = best_us(lambda: [assemble(*arrived) for arrived in traces], len(traces))
    return {
        "spans": len(spans),
        "resolve_us_per_span": resolve_us(spans),
        "assemble_us_per_span": assemble_us * len(traces) / len(spans),
        "assemble_us_per_trace": assemble_us,
        "dump_us_per_trace": best_us(lambda: [dump_trace(t) for t in assembled], len(traces)),
        "load_us_per_trace": best_us(lambda: [load_trace(d) for d in dumped], len(traces)),
    }


def measure_plans(spans: Iterable[SpanRecord]) -> dict[str, float]:
    """What plans cost: microseconds to compile one, and how many spans find theirs compiled."""
    tables = Tables(BUILT_IN)
    first: dict[int, SpanRecord] = {}
    count = 0
    for span in spans:
        count += 1
        plan = tables.plan(span.scope_name, span.resource, span.attributes, _names(span))
        first.setdefault(id(plan), span)

    def compile_all() -> None:
        for span in first.values():
            compile_plan(
                tables.index,
                span.scope_name,
                tables.mark(span.resource),
                span.attributes,
                tuple(dict.fromkeys(_names(span))),
            )

    return {
        "key_sets": len(first),
        "compile_us_per_key_set": best_us(compile_all, len(first)),
        "planned_spans_share": 1 - len(first) / count,
    }


def _names(span: SpanRecord) -> tuple[str, ...]:
    return tuple([event.name for event in span.events])


def main() -> None:
    """Print one JSON line per kind of traces."""
    sources: dict[str, list[Arrived]] = {
        dialect: [(spans, ()) for spans in load_spans(dialect)]
        for dialect in ("genai", "openinference")
    }
    sources["recorded"] = recorded_traces()
    for name, traces in sources.items():
        plans = measure_plans(span for spans, _ in traces for span in spans)
        figures = {key: round(value, 2) for key, value in (measure(traces) | plans).items()}
        print(json.dumps({"traces": name, **figures}))


if __name__ == "__main__":
    main()
