"""Measure the service with the load generator beside it and print one table.

Every throughput also stands as a ratio to the generator's own decoding of the same payloads
(protobuf parse plus a walk over all attributes in Python) measured in the same run, because
machines differ and are shared. Usage: python bench/run.py [--spans N] [--quick] [--out FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

LOAD = Path(__file__).with_name("otlp_load.py")
JUDGED_SPANS = "SELECT count(DISTINCT trace_id) FROM scores_history"


@dataclass(frozen=True)
class Service:
    """A running service and where to reach it."""

    process: subprocess.Popen[bytes]
    grpc: str
    http: str
    api: str
    database: Path

    def get(self, path: str) -> str:
        """Return the body of GET `path` of the API."""
        with urllib.request.urlopen(f"{self.api}{path}", timeout=30) as response:
            text: str = response.read().decode()
        return text

    def scalar(self, sql: str) -> Any:
        """Return the first value of a query through the SQL door."""
        body = json.dumps({"sql": sql}).encode()
        request = urllib.request.Request(
            f"{self.api}/api/sql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["rows"][0][0]

    def processes(self) -> dict[str, psutil.Process]:
        """Return the supervisor and its children by name."""
        parent = psutil.Process(self.process.pid)
        named = {"supervisor": parent}
        for child in parent.children():
            with contextlib.suppress(psutil.Error, IndexError):
                named[child.cmdline()[-1]] = child
        return named

    def resident_mb(self) -> dict[str, float]:
        """Return each process's resident memory in MB; pages that several share count once."""
        sizes = {
            name: round(process.memory_full_info().pss / 1e6, 1)
            for name, process in self.processes().items()
        }
        return {**sizes, "all": round(sum(sizes.values()), 1)}


@contextlib.contextmanager
def service(config: str = "", storage: Path | None = None) -> Iterator[Service]:
    """Start the service on free ports with a temporary database, or with that in `storage`."""
    with tempfile.TemporaryDirectory(prefix="tracejury-bench-") as name:
        directory = Path(name)
        ports = free_ports(3)
        listen = [f"127.0.0.1:{port}" for port in ports]
        database = storage.absolute() if storage else directory / "bench.duckdb"
        (directory / "tracejury.yaml").write_text(
            f"storage: {database}\n"
            f"listen: {{grpc: '{listen[0]}', otlp_http: '{listen[1]}', api: '{listen[2]}'}}\n"
            + config
        )
        command = [sys.executable, "-m", "tracejury.cli", "serve", "--config"]
        process = subprocess.Popen(
            [*command, str(directory / "tracejury.yaml")], stderr=subprocess.DEVNULL
        )
        try:
            running = Service(
                process, listen[0], f"http://{listen[1]}", f"http://{listen[2]}", database
            )
            await_ready(running)
            yield running
        finally:
            process.terminate()
            process.wait(30)


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def await_ready(running: Service, timeout_s: float = 30) -> None:
    """Wait until the service answers /readyz."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            running.get("/readyz")
            return
        time.sleep(0.1)
    raise TimeoutError("the service did not become ready")


def load(*arguments: str) -> dict[str, Any]:
    """Run the load generator and return its figures."""
    done = subprocess.run(
        [sys.executable, str(LOAD), *arguments], check=True, capture_output=True, text=True
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def target(running: Service, transport: str) -> list[str]:
    """Return the generator's arguments for a transport."""
    if transport == "grpc":
        return ["--grpc", running.grpc]
    return ["--url", f"{running.http}/v1/traces"]


def ingest(transport: str, spans: int, *extra: str) -> dict[str, Any]:
    """Measure acknowledged and queryable spans/s with the jury off."""
    with service("rules: {}\n") as running:
        load(*target(running, transport), "--spans", "10240")
        before = running.scalar("SELECT count(*) FROM spans")
        started = time.perf_counter()
        figures = load(
            *target(running, transport),
            *("--spans", str(spans), "--retry", "5", "--disk", str(running.database)),
            *("--pid", str(running.process.pid), *extra),
        )
        while running.scalar("SELECT count(*) FROM spans") - before < figures["spans_acked"]:
            time.sleep(0.05)
        seen_s = time.perf_counter() - started
        figures["queryable_per_s"] = round(
            figures["spans_acked"] / max(figures["ack_wall_s"], seen_s - 1.5), 1
        )
        figures["resident_mb"] = running.resident_mb()
    return figures


def judging(rate: int, seconds: int) -> dict[str, Any]:
    """Measure whether judging every trace keeps up with `rate` spans/s."""
    with service() as running:
        figures = load(
            *target(running, "http"),
            *("--spans", str(rate * seconds), "--rate", str(rate), "--batch", "512"),
        )
        ended = time.monotonic()
        traces = running.scalar("SELECT count(DISTINCT trace_id) FROM spans")
        judged_at_end = running.scalar(JUDGED_SPANS)
        judged = judged_at_end
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
            "resident_mb": running.resident_mb(),
        }


def recovery() -> dict[str, float]:
    """Measure how long after a kill -9 of each child an export is acknowledged again, in s."""
    found = {}
    with service() as running:
        for name in ("receiver-1", "store", "jury-1"):
            load(*target(running, "http"), "--spans", "5120")
            killed = running.processes()[name]
            killed.kill()
            started = time.monotonic()
            while running.processes().get(name) in (None, killed) or not answers(running):
                time.sleep(0.02)
            found[name] = round(time.monotonic() - started, 2)
    return found


def answers(running: Service) -> bool:
    """Say whether the service is ready and acknowledges an empty export."""
    request = urllib.request.Request(
        f"{running.http}/v1/traces", b"{}", {"Content-Type": "application/json"}
    )
    try:
        running.get("/readyz")
        with urllib.request.urlopen(request, timeout=10) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def keeps_up(figures: dict[str, Any]) -> bool:
    """Say whether all was sent at the wanted rate and judged within 3 s past `after_root`."""
    sent = figures["acked_per_s"] > 0.95 * figures["rate"]
    return sent and figures["judged"] == figures["traces"] and figures["catch_up_s"] < 6.5


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=204_800)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--out", type=Path, help="write all figures as JSON here")
    options = parser.parse_args()
    spans = options.spans // 10 if options.quick else options.spans
    seconds = 5 if options.quick else 20

    reference = load("--decode-bench")
    walk = reference["parse_walk_attrs_spans_per_s"]["median"]
    print(f"reference: parse + walk {walk:,} spans/s")
    figures: dict[str, Any] = {"reference": reference, "ingest": {}, "judging": []}
    for transport in ("http", "grpc"):
        found = ingest(transport, spans)
        figures["ingest"][transport] = found
        print(
            f"{transport}: acknowledged {found['acked_per_s']:,.0f}/s, "
            f"queryable {found['queryable_per_s']:,.0f}/s "
            f"(ratio {found['acked_per_s'] / walk:.3f}), p50 {found['lat_p50_ms']} ms, "
            f"p99 {found['lat_p99_ms']} ms, "
            f"CPU {found['server_cpu_s_per_10k']} s per 10,000 spans, "
            f"{found['disk_b_per_span']} bytes/span on disk, resident {found['resident_mb']}"
        )
    figures["recovery_s"] = recovery()
    print(f"acknowledging again after kill -9, seconds: {figures['recovery_s']}")
    for rate in (1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000):
        judged = judging(rate, seconds)
        figures["judging"].append(judged)
        verdict = "keeps up" if keeps_up(judged) else "falls behind"
        print(f"judging at {rate:,} spans/s: {verdict} {judged}")
        if not keeps_up(judged):
            break
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
