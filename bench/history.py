"""A database with a long history, made from a short one that the service wrote itself.

The service takes a few thousand of the load generator's traces and judges them; every table is
then copied many times into a new file, oldest copy first: other ids, later positions, times spread
evenly over the days before now. Usage: python bench/history.py FILE [--spans N] [--days D]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from rich.progress import track
from running import load, service, target

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.helpers.databases import lay_out

SAMPLE_SPANS = 20_480
SPANS_PER_TRACE = 10
ROW_GROUP_SIZE = 8192  # as the service attaches its file
DAY_NS = 86_400 * 1_000_000_000
FAST = "completion: {after_root: 300ms, idle: 2s, tick: 50ms}\n"
COPIED = (
    *("spans", "traces", "llm_calls", "tool_calls", "messages", "documents"),
    *("decisions", "attempts", "results"),
)
POSITIONS = ("seq", "first_seq", "last_seq")
IDS = ("trace_id", "target_id", "decision_id")
SEQUENCES = {"traces": "trace_positions", "results": "result_positions"}


def make_sample(path: Path) -> None:
    """Put a database at `path` whose traces a service received, finished and judged."""
    with service(FAST) as running:
        load(*target(running, "http"), "--spans", str(SAMPLE_SPANS), "--batch", "512")
        while running.scalar("SELECT count(DISTINCT trace_id) FROM scores") < (
            SAMPLE_SPANS // SPANS_PER_TRACE
        ):
            time.sleep(0.5)
        running.process.terminate()
        running.process.wait(30)
        shutil.copy(running.database, path)


def multiply(sample: Path, path: Path, spans: int, days: float) -> None:
    """Write `spans` spans over the last `days` days to the database `path`, new or grown."""
    if not path.exists():
        lay_out(path)
    copies = max(1, spans // SAMPLE_SPANS)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{sample}' AS sample (READ_ONLY)")
        connection.execute(f"ATTACH '{path}' AS history (ROW_GROUP_SIZE {ROW_GROUP_SIZE})")
        newest = "SELECT max(epoch_ns(received_at)) FROM sample.base.spans"
        late_ns = time.time_ns() - _scalar(connection, newest)
        begun = _scalar(connection, "SELECT coalesce(max(seq), 0) FROM history.base.spans")
        statements = [_copying(connection, table) for table in COPIED]
        for copy in track(range(copies), description=f"{spans:,} spans"):
            ago_ns = int((copies - 1 - copy) / copies * days * DAY_NS)
            values = {
                "copy": begun + copy,
                "positions": begun + copy * SAMPLE_SPANS,
                "later_ns": late_ns - ago_ns,
            }
            for statement in statements:
                connection.execute(
                    statement, {k: v for k, v in values.items() if f"${k}" in statement}
                )
        connection.execute("CHECKPOINT history")


def _scalar(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    value: int = connection.execute(sql).fetchall()[0][0]
    return value


def _copying(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return the statement that adds one copy of a table of the sample."""
    columns = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = 'sample' "
        "AND schema_name = 'base' AND table_name = ? ORDER BY column_index",
        [table],
    ).fetchall()
    values = ", ".join(_moved(table, name, kind) for name, kind in columns)
    order = " ORDER BY seq" if table == "spans" else ""
    names = ", ".join(f'"{name}"' for name, _ in columns)
    source = f"SELECT {values} FROM sample.base.{table}{order}"
    return f"INSERT INTO history.base.{table} ({names}) {source}"


def _moved(table: str, name: str, kind: str) -> str:
    if name == "position" and table in SEQUENCES:
        return f"nextval('history.base.{SEQUENCES[table]}')"
    if name in IDS:
        return f"md5({name} || $copy)"
    if name == "id_key":
        return "history.base.id_key(md5(trace_id || $copy))"
    if name == "session_id":
        return "session_id || '-' || $copy"
    if name in POSITIONS:
        return f"{name} + $positions"
    if kind == "TIMESTAMP_NS":
        return f"make_timestamp_ns(epoch_ns({name}) + $later_ns::BIGINT)"
    if name.endswith("_unix_nano"):
        return f"({name}::HUGEINT + $later_ns::BIGINT)::UBIGINT"
    if name == "content_hash_low":
        return f"xor({name}, $copy::UBIGINT)"
    return f'"{name}"'


def main() -> None:
    """Make the database that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--spans", type=int, default=10_000_000)
    parser.add_argument("--days", type=float, default=30)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tracejury-bench-") as directory:
        sample = Path(directory) / "sample.duckdb"
        make_sample(sample)
        multiply(sample, wanted.file, wanted.spans, wanted.days)
    size = wanted.file.stat().st_size
    print(f"{wanted.file}: {size / 1e9:.2f} GB, {size / wanted.spans:.0f} bytes a span")


if __name__ == "__main__":
    main()
