"""How long one span takes to resolve and one trace of ten spans to assemble.

Run it in the folder of `otlp_load.py`: `python bench/bench_assemble.py`.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

from tracejury.assemble import assemble
from tracejury.codec import dump_trace, load_trace
from tracejury.dialects import resolve
from tracejury.trace import SpanEvent, SpanRecord

TRACES = 100
ROUNDS = 5


def load_spans(dialect: str) -> list[list[SpanRecord]]:
    """The load generator's traces as records."""
    import otlp_load

    random_ = random.Random(7)
    return [
        _records(otlp_load.trace_spans(random_, dialect, n), otlp_load.RES) for n in range(TRACES)
    ]


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


def measure(dialect: str) -> dict[str, float]:
    """Microseconds per span or trace of one dialect."""
    traces = load_spans(dialect)
    spans = [span for trace in traces for span in trace]
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

    assembled = [assemble(trace) for trace in traces]
    dumped = [dump_trace(trace) for trace in assembled]
    return {
        "resolve_us_per_span": best_us(resolve_all, len(spans)),
        "assemble_us_per_trace": best_us(lambda: [assemble(t) for t in traces], TRACES),
        "dump_us_per_trace": best_us(lambda: [dump_trace(t) for t in assembled], TRACES),
        "load_us_per_trace": best_us(lambda: [load_trace(d) for d in dumped], TRACES),
    }


def main() -> None:
    """Print one JSON line per dialect."""
    for dialect in ("genai", "openinference"):
        figures = {key: round(value, 1) for key, value in measure(dialect).items()}
        print(json.dumps({"dialect": dialect, **figures}))


if __name__ == "__main__":
    main()
