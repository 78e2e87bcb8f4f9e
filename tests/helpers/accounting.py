"""The identity that holds whatever happens: received = stored + duplicate + rejected + shed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import httpx
import orjson
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

SIGNALS = ("spans", "logs")
FATES = ("stored", "duplicate", "rejected", "shed")


def counted(metrics: str) -> dict[str, Counter[str]]:
    """Return how many records there were by signal and by what became of them, from /metrics."""
    found: dict[str, Counter[str]] = {signal: Counter() for signal in SIGNALS}
    for family in text_string_to_metric_families(metrics):
        if family.name == "tracejury_records":
            for sample in family.samples:
                found.setdefault(sample.labels["signal"], Counter())[sample.labels["result"]] += (
                    int(sample.value)
                )
    return found


def check_identity(counts: dict[str, Counter[str]]) -> None:
    """Raise AssertionError unless every record received is accounted for."""
    for signal in SIGNALS:
        count = counts.get(signal, Counter())
        assert count["received"] == sum(count[fate] for fate in FATES), (signal, count)


def check_metrics(client: httpx.Client | TestClient, api: str = "") -> Counter[str]:
    """Check the identity as /metrics tells it; return the counts of spans."""
    answer = client.get(f"{api}/metrics")
    assert answer.status_code == 200, answer.text
    found = counted(answer.text)
    check_identity(found)
    return found["spans"]


def check_persisted(database: Path) -> Counter[str]:
    """Check the identity as a closed database tells it, and that its rows are those counted."""
    with duckdb.connect(str(database), read_only=True) as connection:
        row = connection.execute("SELECT counters FROM base.ledger").fetchone()
        assert row is not None
        found: dict[str, Counter[str]] = {}
        for key, value in orjson.loads(row[0]).items():
            signal, _, name = key.partition(".")
            found.setdefault(signal, Counter())[name] += value
        check_identity(found)
        for signal in SIGNALS:
            rows = connection.execute(f"SELECT count(*) FROM base.{signal}").fetchone()
            assert rows == (found.get(signal, Counter())["stored"],), signal
    return found["spans"]
