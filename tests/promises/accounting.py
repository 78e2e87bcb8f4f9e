"""The identity that holds at all times: received = stored + duplicate + rejected + shed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.helpers.service import RunningService, eventually, settle
from tracejury_collector.store.database import Database

SIGNALS = ("spans", "logs")
RESULTS = ("received", "stored", "duplicate", "rejected", "shed")


@dataclass(frozen=True, kw_only=True)
class Account:
    """What became of the records of one signal."""

    received: int = 0
    stored: int = 0
    duplicate: int = 0
    rejected: int = 0
    shed: int = 0

    @property
    def is_balanced(self) -> bool:
        """Whether nothing was lost silently."""
        return self.received == self.stored + self.duplicate + self.rejected + self.shed


Accounts = dict[str, Account]


def _accounts(counts: Mapping[tuple[str, str], int]) -> Accounts:
    """Return the account of each signal from counts by (result, signal)."""
    return {s: Account(**{r: counts.get((r, s), 0) for r in RESULTS}) for s in SIGNALS}


def counted(db: Database) -> Accounts:
    """Return the accounts of an open database."""
    return _accounts(db.counters())


def exposed(service: RunningService) -> Accounts:
    """Return the accounts as /metrics tells them, of what was acknowledged before."""
    settle(service.database)
    text = service.client.get(f"{service.api}/metrics").text
    return _accounts(
        {
            (sample.labels["result"], sample.labels["signal"]): int(sample.value)
            for family in text_string_to_metric_families(text)
            if family.name == "tracejury_records"
            for sample in family.samples
        }
    )


def persisted(path: Path) -> tuple[Accounts, dict[str, int]]:
    """Return the accounts as the file of a stopped service holds them, and the rows it holds."""
    with duckdb.connect(str(path), read_only=True) as connection:
        (row,) = connection.execute("SELECT counters FROM base.ledger").fetchall()
        rows = {
            signal: connection.execute(f"SELECT count(*) FROM base.{signal}").fetchall()[0][0]
            for signal in SIGNALS
        }
    counters = {tuple(key.split(".")): count for key, count in json.loads(row[0]).items()}
    return _accounts({(key[1], key[0]): n for key, n in counters.items() if len(key) == 2}), rows


def assert_balanced(accounts: Accounts) -> None:
    """Nothing is lost silently, of any signal."""
    for signal, account in accounts.items():
        assert account.is_balanced, (signal, account)


def assert_accounts(service: RunningService) -> Accounts:
    """Assert the identity on a running service; return its accounts.

    What a receiver refused by itself is told to the store a moment later, all at once, so that
    the identity holds at every scrape.
    """
    found = exposed(service)
    assert_balanced(found)
    return found


def assert_kept(path: Path) -> Accounts:
    """Assert the identity on the file of a stopped service, and that its rows are those stored.

    Only where nothing was deleted on purpose.
    """
    found, rows = persisted(path)
    assert_balanced(found)
    assert {signal: account.stored for signal, account in found.items()} == rows
    return found


def until_received(service: RunningService, spans: int) -> None:
    """Wait until this many spans were counted as received."""

    def is_received() -> bool:
        try:
            return exposed(service)["spans"].received >= spans
        except httpx.HTTPError:
            return False

    eventually(is_received, f"{spans} spans are accounted for", log=service.log)
