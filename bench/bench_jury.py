"""How fast traces are judged: the default jury from the database on, and each evaluator alone.

Usage: python bench/bench_jury.py [--path] [--types TYPE ...]

Times are processor time of this process, best of several rounds: what one core does. A loop in
plain Python is timed beside it, because machines differ and are shared.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench_assemble import best_us  # noqa: E402
from tests.helpers.cases import CASES, load_cases, trace_of  # noqa: E402
from tests.helpers.corpus import CORPUS, case_names  # noqa: E402
from tests.helpers.databases import open_database  # noqa: E402
from tests.helpers.rearrival import decoded, recorded_items  # noqa: E402

from tracejury.assemble import assemble  # noqa: E402
from tracejury.codec import dump_trace, load_trace  # noqa: E402
from tracejury.evaluator import Evaluator, run_evaluator  # noqa: E402
from tracejury.result import Score  # noqa: E402
from tracejury.trace import Trace  # noqa: E402
from tracejury_collector.config import DEFAULT_EVALUATORS  # noqa: E402
from tracejury_collector.receive.otlp import Signal  # noqa: E402
from tracejury_collector.store.append import Appender  # noqa: E402
from tracejury_collector.store.arrivals import Arrivals  # noqa: E402
from tracejury_collector.store.database import Database  # noqa: E402
from tracejury_collector.store.loading import SeqRange, load_arrivals  # noqa: E402
from tracejury_evaluators.registry import built_in_registry  # noqa: E402

OUTSIDE = ("llm-", "process", "webhook", "sql")
LOOP_STEPS = 1_000_000
REPEATS = 50

Judgement = tuple[Evaluator[Any], Trace, Mapping[str, Any] | None]


def reference_us() -> float:
    """Microseconds for a million steps of a loop: how fast the machine is just now."""

    def loop() -> None:
        total = 0
        for step in range(LOOP_STEPS):
            total += step

    return best_us(loop, 1)


def stored_corpus(db: Database) -> list[SeqRange]:
    """Store all recorded exports; where the arrivals of each trace lie."""
    appender = Appender(db)
    signals: tuple[tuple[Signal, Literal["spans", "logs"]], ...] = (
        ("traces", "spans"),
        ("logs", "logs"),
    )
    for name in case_names(CORPUS):
        items = recorded_items(name)
        for signal, rows in signals:
            of_signal = [item for item in items if item.signal == signal]
            if of_signal:
                table = decoded(of_signal, "protobuf")
                appender.append(rows, table, 0).result()
    with db.read() as cursor:
        found = cursor.execute(
            "SELECT trace_id, min(seq), max(seq) FROM base.spans GROUP BY ALL ORDER BY 2"
        ).fetchall()
    return [SeqRange(trace_id=t, first_seq=first, last_seq=last) for t, first, last in found]


def measure_path() -> dict[str, Any]:
    """What a recorded trace costs on its way through the default jury, microseconds."""
    registry = built_in_registry()
    jury = [registry.build(spec.type, spec.config) for spec in DEFAULT_EVALUATORS.values()]
    with tempfile.TemporaryDirectory() as folder, open_database(Path(folder) / "db") as db:
        ranges = stored_corpus(db)
        arrivals = _load(db, ranges)
        traces = [assemble(found.spans, found.logs) for found in arrivals]
        dumps = [dump_trace(trace) for trace in traces]
        steps: dict[str, Callable[[], object]] = {
            "load": lambda: _load(db, ranges),
            "assemble": lambda: [assemble(found.spans, found.logs) for found in arrivals],
            "dump": lambda: [dump_trace(trace) for trace in traces],
            "undump": lambda: [load_trace(data) for data in dumps],
            "judge": lambda: [run_evaluator(member, trace) for trace in traces for member in jury],
        }
        figures = {f"{name}_us": best_us(step, len(ranges)) for name, step in steps.items()}
        whole = figures["load_us"] + figures["assemble_us"] + figures["judge_us"]
        return {
            "traces": len(ranges),
            "spans": sum(len(found.spans) for found in arrivals),
            **{name: round(value, 1) for name, value in figures.items()},
            "load_assemble_judge_per_s": round(1e6 / whole),
            "with_hand_over_per_s": round(1e6 / sum(figures.values())),
        }


def _load(db: Database, ranges: Sequence[SeqRange]) -> list[Arrivals]:
    """All at once: the worker too loads the spans of many traces by one query."""
    with db.read() as cursor:
        return list(load_arrivals(cursor, ranges).values())


def measure_type(type_name: str) -> dict[str, Any] | None:
    """What one judgement costs in the cases of a type that end in a score; None without any."""
    costs = sorted(_judgement_us(*judgement) for judgement in _scored(type_name))
    if not costs:
        return None
    middle = costs[len(costs) // 2]
    return {
        "type": type_name,
        "median_us": round(middle, 1),
        "worst_us": round(costs[-1], 1),
        "median_per_s": round(1e6 / middle),
    }


def _judgement_us(
    evaluator: Evaluator[Any], trace: Trace, criteria: Mapping[str, Any] | None
) -> float:
    def judge() -> None:
        for _ in range(REPEATS):
            run_evaluator(evaluator, trace, criteria)

    return best_us(judge, REPEATS)


def _scored(type_name: str) -> list[Judgement]:
    registry = built_in_registry()
    found: list[Judgement] = []
    for case in load_cases(CASES / f"{type_name}.json"):
        judgement = (registry.build(case.type, case.config), trace_of(case.trace), case.criteria)
        if isinstance(run_evaluator(*judgement), Score):
            found.append(judgement)
    return found


def main() -> None:
    """Print one JSON line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", action="store_true", help="only the default jury's path")
    parser.add_argument("--types", nargs="*", help="only these evaluator types")
    arguments = parser.parse_args()
    print(json.dumps({"reference_loop_us": round(reference_us())}))
    if arguments.types is None:
        print(json.dumps({"default_jury": measure_path()}))
    if arguments.path:
        return
    names = [row.type for row in built_in_registry().types()]
    for name in arguments.types or names:
        figure = None if name.startswith(OUTSIDE) else measure_type(name)
        if figure:
            print(json.dumps(figure))


if __name__ == "__main__":
    main()
