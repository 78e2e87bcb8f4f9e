"""How fast questions are answered over a long history, while spans keep arriving.

Usage: python bench/queries.py DATABASE [--rate SPANS] [--rounds N] (DATABASE: bench/history.py)

Each question is asked over the API, one after the other: first with nothing else to do, for the
processor time that the store process takes for it, then while the load generator sends at a fixed
rate, for the time until the answer. Then three analysts scan all spans without a pause, and the
time that the generator's requests take is compared with the time before. The database is not
copied: it grows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from running import LOAD, Service, service, target

SCAN = "SELECT count(*), sum(length(attributes)) FROM spans WHERE attributes LIKE '%nothing%'"
BY_MODEL = """
SELECT model, start_time::DATE AS day, sum(input_tokens), sum(output_tokens)
FROM llm_calls GROUP BY ALL ORDER BY ALL
"""
SPREAD = """
SELECT string_agg(trace_id, ' ')
FROM (SELECT trace_id FROM traces WHERE status = 'complete' ORDER BY md5(trace_id) LIMIT 500)
"""
ANALYSTS = 3
IDLE_S = 2.0


def questions(running: Service) -> dict[str, Callable[[], object]]:
    """Return what is asked, by its name; single traces are taken from all of the history."""
    ids = str(running.scalar(SPREAD)).split()
    newest = json.loads(running.get("/api/traces?limit=1000"))["items"]
    services = urllib.parse.quote(newest[-1]["service_name"])
    one = itertools.cycle(ids)
    gets = {
        "newest 50 traces": "/api/traces?limit=50",
        "service, error, last 24 h": f"/api/traces?service={services}&where=has_error&since=24h",
        "a condition that nothing fulfils": "/api/traces?where=latency_ms%3E1e12",
        "newest 50 results": "/api/results?limit=50",
        "newest 50 sessions": "/api/sessions?limit=50",
        "pass rates of the last hour": "/api/pass-rates?since=1h",
    }
    return {
        **{name: partial(running.get, path) for name, path in gets.items()},
        "one trace by id": lambda: running.get(f"/api/traces/{next(one)}"),
        "why one was judged": lambda: running.get(f"/api/traces/{next(one)}/explain"),
        "results of one trace": lambda: running.get(f"/api/results?trace_id={next(one)}"),
        "tokens by model and day": lambda: running.scalar(BY_MODEL),
    }


def cpu_ms(running: Service, ask: Callable[[], object], rounds: int) -> float:
    """Return the processor time that the store process takes for an answer, in ms.

    What it takes in the same time when nobody asks is taken off.
    """
    store = running.processes()["store"]

    def used_ms(work: Callable[[], object]) -> tuple[float, float]:
        began_s, before = time.perf_counter(), store.cpu_times()
        work()
        after = store.cpu_times()
        spent_s = after.user - before.user + after.system - before.system
        return spent_s * 1e3, time.perf_counter() - began_s

    idle_ms, idle_s = used_ms(lambda: time.sleep(IDLE_S))
    asked_ms, asked_s = used_ms(lambda: [ask() for _ in range(rounds)])
    return round((asked_ms - idle_ms / idle_s * asked_s) / rounds, 1)


def times_ms(ask: Callable[[], object], rounds: int) -> dict[str, float]:
    """Return median and 99th percentile of asking, in ms."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1e3)
    taken.sort()
    return {
        "median_ms": round(statistics.median(taken), 1),
        "p99_ms": round(taken[min(len(taken) - 1, int(len(taken) * 0.99))], 1),
    }


@contextmanager
def traffic(running: Service, rate: int) -> Iterator[None]:
    """Send spans at `rate` a second meanwhile."""
    command = [sys.executable, str(LOAD), *target(running, "http"), "--retry", "5", "--quiet"]
    sending = subprocess.Popen(
        [*command, "--rate", str(rate), "--spans", str(rate * 3600)], stdout=subprocess.DEVNULL
    )
    try:
        time.sleep(5)
        yield
    finally:
        sending.terminate()
        sending.wait(10)


@contextmanager
def analysts(running: Service) -> Iterator[None]:
    """Have all spans scanned meanwhile, by several at once and without a pause."""
    stop = threading.Event()

    def scan() -> None:
        while not stop.is_set():
            try:
                running.scalar(SCAN)
            except OSError:
                time.sleep(0.1)  # stopped at its limit, or the store was: the next one

    scanning = [threading.Thread(target=scan, daemon=True) for _ in range(ANALYSTS)]
    for each in scanning:
        each.start()
    try:
        time.sleep(1)
        yield
    finally:
        stop.set()
        for each in scanning:
            each.join(60)


def acknowledged(running: Service, rate: int, seconds: int) -> dict[str, Any]:
    """Return the figures of the generator sending at `rate` for some seconds."""
    command = [sys.executable, str(LOAD), *target(running, "http"), "--retry", "5"]
    done = subprocess.run(
        [*command, "--rate", str(rate), "--spans", str(rate * seconds)],
        check=True,
        capture_output=True,
        text=True,
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Print one line of JSON for each question, then what scans do to the senders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", type=Path)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=100)
    wanted = parser.parse_args()
    with service(storage=wanted.database) as running:
        spans = running.scalar("SELECT count(*) FROM spans")
        print(json.dumps({"spans": spans, "rate": wanted.rate}), flush=True)
        asked = questions(running)
        cpu = {name: cpu_ms(running, ask, wanted.rounds) for name, ask in asked.items()}
        with traffic(running, wanted.rate):
            for name, ask in asked.items():
                ask()
                figures = {"cpu_ms": cpu[name], **times_ms(ask, wanted.rounds)}
                print(json.dumps({"question": name, **figures}), flush=True)
        alone = acknowledged(running, wanted.rate, 20)
        with analysts(running):
            beside = acknowledged(running, wanted.rate, 20)
        print(json.dumps({"senders alone": _latency(alone), "beside scans": _latency(beside)}))


def _latency(figures: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in figures.items() if "p50" in key or "p99" in key}


if __name__ == "__main__":
    main()
