"""What redaction costs the receiver: spans decoded with it, beside the same without.

Prints one JSON line each for the load generator's traces and for the recorded exports of the
tests, in processor time, best of five rounds. Usage: python bench/bench_redaction.py
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracejury_collector.config import Limits, parse_config
from tracejury_collector.receive.otlp import decode
from tracejury_collector.redaction import Redactor

ROOT = Path(__file__).parents[1]
TRACES = 50
ROUNDS = 5
KNOWN = ["email", "phone", "card", "keys"]
SETTINGS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "patterns": {"patterns": KNOWN},
    "patterns_and_names": {"patterns": KNOWN, "attributes": ["password", "authorization"]},
    "with_own": {"patterns": KNOWN, "custom": {"employee": r"\bEMP-\d+"}},
}


def generated() -> list[bytes]:
    """The load generator's traces in one request of usual size."""
    import otlp_load

    random_ = random.Random(7)
    spans = [s for n in range(TRACES) for s in otlp_load.trace_spans(random_, "gen_ai", n)]
    return [otlp_load.build_proto(spans)]


def recorded() -> list[bytes]:
    """The recorded exports of the test corpus as requests."""
    sys.path.insert(0, str(ROOT))
    from tests.helpers.corpus import CORPUS, case_names, requests

    folders = [CORPUS / "captures" / name for name in case_names()]
    return [
        request.SerializeToString()
        for folder in folders
        for request in requests(folder, ExportTraceServiceRequest)
    ]


def measure(bodies: Sequence[bytes], settings: dict[str, Any]) -> tuple[float, int, int]:
    """The microseconds of a span, the number of spans, and how much was taken out."""
    redactor = Redactor(parse_config({"redact": settings}).redact)
    best_s, spans, taken = float("inf"), 0, 0
    for _ in range(ROUNDS):
        started_s = time.process_time()
        decoded = [decode("traces", "protobuf", body, Limits(), redactor) for body in bodies]
        best_s = min(best_s, time.process_time() - started_s)
        spans = sum(one.table.num_rows for one in decoded if one.table is not None)
        taken = sum(sum(one.redacted.values()) for one in decoded)
    return best_s / spans * 1e6, spans, taken


def main() -> None:
    """Print the figures."""
    for name, bodies in (("generated", generated()), ("recorded", recorded())):
        plain_us, spans, _ = measure(bodies, {})
        figures: dict[str, Any] = {"traces": name, "spans": spans}
        for case, settings in SETTINGS.items():
            us, _, taken = measure(bodies, settings)
            figures[case] = {"us": round(us, 1), "ratio": round(us / plain_us, 2), "taken": taken}
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
