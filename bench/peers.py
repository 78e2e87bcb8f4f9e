"""Compare the service with other systems that take agent traces over OTLP/HTTP.

Same payloads, same machine, same run, one system at a time, in turns: each round starts every
system with an empty database, sends to it for some seconds (retrying what it puts off, as exporters
do), waits until it has caught up, and counts what can be read. Versions are fixed in
peer_systems.py. Usage: python bench/peers.py [--seconds S] [--rounds N] [--page FILE] [--only NAME]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from peer_systems import OWN, PEERS, Peer, Running, installed, running_peer
from rich.console import Console
from rich.table import Table
from running import load
from usage import Usage, per_10k

WARM_UP = ("--spans", "2560")
PATIENCE_S = 600.0
STALLED_S = 30.0
REQUESTS = {"512 spans a request": "512", "a trace of 10 spans a request": "trace"}
MARK = "<!-- {} of the table of bench/peers.py -->"
COLUMNS = (
    *("system", "acknowledged/s", "queryable/s", "acknowledged", "refused", "lost"),
    *("CPU s/10k spans", "peak MB", "disk bytes/span"),
)

Figures = dict[str, Any]


def measure(
    start: Callable[[], AbstractContextManager[Running]], batch: str, sending: Sequence[str]
) -> Figures:
    """Return what a freshly started system came to; only `error` where it failed."""
    try:
        with start() as running, Usage(running.processes) as usage:
            return _measure(running, usage, batch, sending)
    except (OSError, sqlite3.Error, TimeoutError, subprocess.SubprocessError) as error:
        return {"error": str(error)}


def _measure(running: Running, usage: Usage, batch: str, sending: Sequence[str]) -> Figures:
    target = ["--url", running.url, "--batch", batch]
    for key, value in running.headers.items():
        target += ["--header", f"{key}={value}"]
    empty = running.stored_bytes()
    warm = load(*target, *sending, *WARM_UP)
    _caught_up(running, warm["spans_acked"])
    used = usage.look()
    sent = load(*target, *sending)
    acked = sent["spans_acked"]
    if not acked:
        return {"error": f"it took nothing: {sent['failures'][:1]}"}
    behind_s = _caught_up(running, warm["spans_acked"] + acked)
    taken = warm["spans_acked"] + acked
    lost = taken - running.count()
    running.settle()
    cpu = per_10k(used, usage.look(), acked)
    running.stop()
    return {
        "acked_per_s": sent["acked_per_s"],
        "queryable_per_s": round(max(0, acked - lost) / (sent["ack_wall_s"] + behind_s), 1),
        "acked": acked,
        "refused": sent["spans_failed"] + sent["spans_rejected_partial"],
        "lost": lost,
        "cpu_s_per_10k": cpu["all"],
        "peak_mb": usage.peak_mb["all"],
        "disk_b_per_span": round((running.stored_bytes() - empty) / taken),
        "lat_p99_ms": sent["lat_p99_ms"],
    }


def _caught_up(running: Running, wanted: int) -> float:
    """Wait until so many spans can be read, or no more come; return until the last came, in s."""
    began = moved = time.perf_counter()
    seen = running.count()
    while seen < wanted:
        time.sleep(0.1)
        now = time.perf_counter()
        found = running.count()
        if found != seen:
            seen, moved = found, time.perf_counter()
        elif now - moved > STALLED_S or now - began > PATIENCE_S:
            break
    return moved - began


def compare(
    peers: Sequence[Peer], cache: Path, sending: Sequence[str], rounds: int
) -> dict[str, Any]:
    """Return each system's figures by requests' size and name: the median of the rounds."""
    console = Console(stderr=True)
    environments = {peer.name: installed(peer, cache) for peer in peers}
    found: dict[str, dict[str, list[Figures]]] = {kind: {} for kind in REQUESTS}
    for number in range(rounds):
        for kind, batch in REQUESTS.items():
            for name in (*OWN, *environments):
                with console.status(f"round {number + 1}, {kind}: {name}"):
                    figures = measure(_starting(name, peers, environments), batch, sending)
                found[kind].setdefault(name, []).append(figures)
                console.print(f"{kind}, {name}: {figures}", soft_wrap=True)
    return {kind: {n: _median(f) for n, f in by.items()} for kind, by in found.items()}


def _starting(
    name: str, peers: Sequence[Peer], environments: dict[str, Path]
) -> Callable[[], AbstractContextManager[Running]]:
    peer = next((each for each in peers if each.name == name), None)
    if peer is None:
        return OWN[name]
    return lambda: running_peer(peer, environments[name])


def _median(rounds: Sequence[Figures]) -> Figures:
    whole = [figures for figures in rounds if "error" not in figures]
    if not whole:
        return rounds[0]
    return {key: statistics.median(figures[key] for figures in whole) for key in whole[0]}


def rows(found: dict[str, Figures]) -> list[tuple[str, ...]]:
    """Return the cells of a table as in `COLUMNS`."""
    return [(name, *_cells(figures)) for name, figures in found.items()]


def _cells(figures: Figures) -> tuple[str, ...]:
    if "error" in figures:
        return (f"not measured: {figures['error']}"[:200], *[""] * (len(COLUMNS) - 2))
    names = ("acked_per_s", "queryable_per_s", "acked", "refused", "lost")
    disk = f"{figures['disk_b_per_span']:,.0f}" if figures["disk_b_per_span"] > 0 else "none"
    return (
        *(f"{figures[name]:,.0f}" for name in names),
        *(f"{figures['cpu_s_per_10k']:.1f}", f"{figures['peak_mb']:,.0f}", disk),
    )


def markdown(found: dict[str, Any], reference: Figures, wanted: argparse.Namespace) -> str:
    """Return the tables with where and when they were measured."""
    walk = reference["parse_walk_attrs_spans_per_s"]["median"]
    said = (
        f"Measured {time.strftime('%Y-%m-%d', time.gmtime())} on {machine()}; "
        f"{wanted.rounds} round(s) of {wanted.seconds} s and {wanted.spans:,} spans at most; "
        f"parsing the same protobuf and walking over its attributes in Python: {walk:,} spans/s in "
        "the same run."
    )
    versions = [
        f"tracejury {version('tracejury')}",
        *(p.requirement.replace("==", " ") for p in PEERS),
    ]
    parts = [said, f"Versions: {', '.join(versions)}."]
    for kind, figures in found.items():
        lines = [COLUMNS, ("---",) * len(COLUMNS), *rows(figures)]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        parts.append(f"{kind[0].upper()}{kind[1:]}:\n\n{table}")
    return "\n\n".join(parts)


def machine() -> str:
    """Return what the figures were measured on."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{os.cpu_count()} cores ({models[0] if models else platform.machine()}), "
        f"{memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()}, "
        "the load generator beside it"
    )


def put_into(page: Path, text: str) -> None:
    """Put the tables into the page, between its two marks."""
    whole = page.read_text()
    begin, end = MARK.format("begin"), MARK.format("end")
    before, _, rest = whole.partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main() -> None:
    """Measure, print, and write the page that the command line names."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--spans", type=int, default=1_024_000, help="at most so many, each time")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=home / "tracejury-peers")
    parser.add_argument("--page", type=Path, help="put the tables into this page")
    parser.add_argument("--only", action="append", help="compare with this one alone")
    parser.add_argument("--out", type=Path, help="write all figures as JSON here")
    wanted = parser.parse_args()
    peers = [peer for peer in PEERS if not wanted.only or peer.name in wanted.only]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what was started, too
    reference = load("--decode-bench")
    sending = ("--spans", str(wanted.spans), "--max-seconds", str(wanted.seconds), "--retry", "8")
    found = compare(peers, wanted.cache, sending, wanted.rounds)
    for kind, figures in found.items():
        table = Table(*COLUMNS, title=kind)
        for cells in rows(figures):
            table.add_row(*cells)
        Console(width=150).print(table)
    if wanted.page:
        put_into(wanted.page, markdown(found, reference, wanted))
    if wanted.out:
        wanted.out.write_text(json.dumps({"reference": reference, "found": found}, indent=1))


if __name__ == "__main__":
    main()
