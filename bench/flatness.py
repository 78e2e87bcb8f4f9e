"""Whether a span costs the same over a long history as over an empty database.

Grows one database to each size (copies of what the service itself wrote, see history.py; so dense
that the window of duplicates is full from two million spans on), and at each size starts the
service over it, sends spans, and says what that took. Needs about 1 KB of disk a span.
Usage: python bench/flatness.py [--sizes 0,1,5,10,20] [--spans N] [--file FILE] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from history import make_sample, multiply
from rich.console import Console
from rich.table import Table
from running import load, service, target
from usage import Usage, per_10k

FLAT = 1.2
"""A cost counts as flat up to so many times that over the smallest database."""
WINDOW_SPANS_PER_DAY = 2_000_000 * 24 * 4  # two million in a quarter of an hour
COLUMNS = (
    *("stored spans", "start s", "start CPU s", "receiver CPU s/10k", "store CPU s/10k"),
    *("with assembly", "times the first", "p99 ms", "peak MB", "stop s"),
)


def over(path: Path, spans: int) -> dict[str, Any]:
    """Return what starting over the database, and then storing `spans` spans, takes."""
    held = stored(path)
    began = time.perf_counter()
    with service("rules: {}\n", path) as running, Usage(running.processes) as usage:
        start_s = time.perf_counter() - began
        used = usage.look()
        load(*target(running, "http"), "--spans", "10240", "--retry", "5")
        running.await_none()
        warm = usage.look()
        figures = load(*target(running, "http"), "--spans", str(spans), "--retry", "8")
        early = per_10k(warm, usage.look(), figures["spans_acked"])
        running.await_none()
        late = per_10k(warm, usage.look(), figures["spans_acked"])
        began = time.perf_counter()
        running.stop()
    return {
        "stored": held,
        "start_s": round(start_s, 2),
        "start_cpu_s": round(sum(used.values()), 2),
        "receiver": early["receiver-1"],
        "store": early["store"],
        "all": late["all"],
        "p99_ms": figures["lat_p99_ms"],
        "peak_mb": usage.peak_mb["all"],
        "stop_s": round(time.perf_counter() - began, 2),
    }


def grow(sample: Path, path: Path, millions: int) -> None:
    """Bring the database, new or not, to so many million spans; makes the sample if need be."""
    missing = millions * 1_000_000 - stored(path)
    if missing > 0:
        if not sample.exists():
            make_sample(sample)
        multiply(sample, path, missing, missing / WINDOW_SPANS_PER_DAY)


def stored(path: Path) -> int:
    """Return how many spans the database holds; 0 for one that is not there."""
    if not path.exists():
        return 0
    with duckdb.connect(str(path), read_only=True) as connection:
        count: int = connection.execute("SELECT count(*) FROM base.spans").fetchall()[0][0]
    return count


def verdict(found: list[dict[str, Any]]) -> str:
    """Say whether each cost stays within `FLAT` of what it is over the smallest database."""
    first, last = found[0], found[-1]
    grown = [
        f"{name} {last[name] / first[name]:.2f} times"
        for name in ("receiver", "store", "all")
        if last[name] > FLAT * first[name]
    ]
    return f"not flat: {', '.join(grown)}" if grown else f"flat: within {FLAT} times"


def table(found: list[dict[str, Any]]) -> Table:
    """Return a row for each size."""
    shown = Table(*COLUMNS, title="storing over a history, jury off")
    for row in found:
        ratio = row["all"] / found[0]["all"]
        shown.add_row(
            *(f"{row['stored']:,}", f"{row['start_s']:.1f}", f"{row['start_cpu_s']:.1f}"),
            *(f"{row['receiver']:.2f}", f"{row['store']:.2f}", f"{row['all']:.2f}"),
            *(f"{ratio:.2f}", f"{row['p99_ms']:.0f}", f"{row['peak_mb']:.0f}"),
            f"{row['stop_s']:.1f}",
        )
    return shown


def main() -> None:
    """Grow and measure, then print the table and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="0,1,5,10,20", help="millions of spans, rising")
    parser.add_argument("--spans", type=int, default=102_400)
    parser.add_argument("--file", type=Path, help="grow this database instead of a temporary one")
    parser.add_argument("--out", type=Path, help="write all figures as JSON here")
    wanted = parser.parse_args()
    console = Console(width=150)
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="tracejury-bench-") as name:
        sample = Path(name) / "sample.duckdb"
        path = wanted.file or Path(name) / "history.duckdb"
        for millions in map(int, wanted.sizes.split(",")):
            grow(sample, path, millions)
            found.append(over(path, wanted.spans))
            console.print(found[-1])
    console.print(table(found), verdict(found))
    if wanted.out:
        wanted.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
