"""Measure the service with the load generator beside it and print one table.

Every throughput also stands as a ratio to the generator's own decoding of the same payloads
(protobuf parse plus a walk over all attributes in Python) measured in the same run, because
machines differ and are shared. Usage: python bench/run.py [--spans N] [--quick] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from running import load, service, target
from starting import recovery, starting
from usage import Usage, per_10k
from visible import Visibility

JUDGED_SPANS = "SELECT count(DISTINCT trace_id) FROM scores_history"
WARM_UP = ("--spans", "10240")
NO_JURY = "rules: {}\n"


def ingest(transport: str, spans: int, *extra: str, config: str = NO_JURY) -> dict[str, Any]:
    """Measure what it takes to acknowledge spans, to finish their traces, and to keep them."""
    with service(config) as running, Usage(running.processes) as usage:
        load(*target(running, transport), *WARM_UP)
        running.await_none()
        before, used = running.scalar("SELECT count(*) FROM spans"), usage.look()
        command = (*target(running, transport), "--spans", str(spans), "--retry", "5")
        figures = load(*command, *extra)
        sent = figures["spans_acked"]
        ended = time.perf_counter()
        while running.scalar("SELECT count(*) FROM spans") - before < sent:
            time.sleep(0.05)
        behind_s = time.perf_counter() - ended
        figures["queryable_per_s"] = round(sent / (figures["ack_wall_s"] + behind_s), 1)
        figures["cpu_s_per_10k"] = per_10k(used, usage.look(), sent)
        running.await_none()
        figures["finished_cpu_s_per_10k"] = per_10k(used, usage.look(), sent)
        figures["peak_mb"] = usage.peak_mb
        running.stop()
        figures["disk_b_per_span"] = round(running.database.stat().st_size / (before + sent), 1)
    return figures


def half_load(transport: str, rate: int, seconds: int) -> dict[str, Any]:
    """Measure how long answers take, and spans until they are visible, at `rate` spans/s."""
    with service(NO_JURY) as running:
        load(*target(running, transport), *WARM_UP)
        with Visibility(running) as visibility:
            spans = ("--spans", str(rate * seconds), "--rate", str(rate))
            figures = load(*target(running, transport), *spans)
        return figures | {"rate": rate, "visible_ms": visibility.figures()}


def judging(rate: int, seconds: int) -> dict[str, Any]:
    """Measure whether judging every trace keeps up with `rate` spans/s."""
    with service() as running, Usage(running.processes) as usage:
        used = usage.look()
        figures = load(
            *target(running, "http"),
            *("--spans", str(rate * seconds), "--rate", str(rate), "--batch", "512"),
        )
        ended = time.monotonic()
        traces = running.scalar("SELECT count(DISTINCT trace_id) FROM spans")
        judged = running.scalar(JUDGED_SPANS)
        while judged < traces and time.monotonic() - ended < 60:
            time.sleep(0.25)
            judged = running.scalar(JUDGED_SPANS)
        lag_s = running.scalar(
            "SELECT median(epoch_ns(r.created_at) - epoch_ns(s.received_at)) / 1e9 "
            "FROM scores_history r JOIN spans s USING (trace_id) WHERE s.parent_span_id = ''"
        )
        return {
            "rate": rate,
            "acked_per_s": figures["acked_per_s"],
            "traces": traces,
            "judged": judged,
            "catch_up_s": round(time.monotonic() - ended, 2),
            "root_to_result_median_s": round(lag_s or 0.0, 3),
            "cpu_s_per_10k": per_10k(used, usage.look(), figures["spans_acked"]),
            "peak_mb": usage.peak_mb,
        }


def keeps_up(figures: dict[str, Any]) -> bool:
    """Say whether all was sent at the wanted rate and judged within 3 s past `after_root`."""
    sent = figures["acked_per_s"] > 0.95 * figures["rate"]
    return sent and figures["judged"] == figures["traces"] and figures["catch_up_s"] < 6.5


def ingests(spans: int) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the ways of sending that are compared, by what they are called."""
    return {
        "http": lambda: ingest("http", spans),
        "grpc": lambda: ingest("grpc", spans),
        "http, a trace a request": lambda: ingest("http", spans // 2, "--batch", "trace"),
        "grpc, a trace a request": lambda: ingest("grpc", spans // 2, "--batch", "trace"),
        "http, 2 receivers": lambda: ingest(
            "http", spans, "--concurrency", "8", config=f"{NO_JURY}receivers: 2\n"
        ),
    }


def ingest_table(found: dict[str, dict[str, Any]], walk: int) -> Table:
    """Return what receiving came to, a row for each way of sending."""
    columns = (
        *("sending", "acknowledged/s", "ratio", "queryable/s", "ratio", "p50 ms", "p99 ms"),
        *("CPU s/10k", "with assembly", "peak MB", "bytes/span"),
    )
    table = Table(*columns, title=f"receiving; ratios to parse + walk, {walk:,} spans/s")
    for name, figures in found.items():
        acked, queryable = figures["acked_per_s"], figures["queryable_per_s"]
        table.add_row(
            *(name, f"{acked:,.0f}", f"{acked / walk:.3f}"),
            *(f"{queryable:,.0f}", f"{queryable / walk:.3f}"),
            *(f"{figures['lat_p50_ms']:.0f}", f"{figures['lat_p99_ms']:.0f}"),
            *(f"{figures['cpu_s_per_10k']['all']:.2f}",),
            *(f"{figures['finished_cpu_s_per_10k']['all']:.2f}",),
            *(f"{figures['peak_mb']['all']:.0f}", f"{figures['disk_b_per_span']:.0f}"),
        )
    return table


def process_table(found: dict[str, dict[str, Any]]) -> Table:
    """Return the processor time of each process, a row for each way of sending."""
    names = sorted({name for f in found.values() for name in f["finished_cpu_s_per_10k"]})
    table = Table("sending", *names, title="CPU s per 10,000 spans, until queryable / assembled")
    for way, figures in found.items():
        early, late = figures["cpu_s_per_10k"], figures["finished_cpu_s_per_10k"]
        cells = (f"{early.get(n, 0):.2f} / {late[n]:.2f}" if n in late else "" for n in names)
        table.add_row(way, *cells)
    return table


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=204_800)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--out", type=Path, help="write all figures as JSON here")
    options = parser.parse_args()
    spans = options.spans // 10 if options.quick else options.spans
    seconds = 5 if options.quick else 20
    console = Console(width=150)

    reference = load("--decode-bench")
    walk = reference["parse_walk_attrs_spans_per_s"]["median"]
    figures: dict[str, Any] = {"reference": reference, "judging": []}
    with console.status("receiving"):
        found = figures["ingest"] = {name: way() for name, way in ingests(spans).items()}
    console.print(ingest_table(found, walk), process_table(found))
    rate = int(found["http"]["acked_per_s"] / 2)
    with console.status("half load"):
        half = figures["half_load"] = half_load("http", rate, seconds)
    console.print(
        f"at half load, {rate:,} spans/s: answers after {half['lat_p50_ms']} ms, "
        f"p99 {half['lat_p99_ms']} ms; visible after {half['visible_ms']} ms"
    )
    with console.status("starting"):
        figures["start"] = starting()
    console.print(f"from the start until all is ready: {figures['start']}")
    with console.status("recovery"):
        figures["recovery"] = recovery()
    console.print(f"acknowledging again after kill -9: {figures['recovery']}")
    for rate in (1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_000):
        with console.status(f"judging at {rate:,} spans/s"):
            judged = judging(rate, seconds)
        figures["judging"].append(judged)
        verdict = "keeps up" if keeps_up(judged) else "falls behind"
        console.print(f"judging at {rate:,} spans/s: {verdict} {judged}")
        if not keeps_up(judged):
            break
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
