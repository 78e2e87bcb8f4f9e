"""What doctor tells about keys: whether there are any, whether they are needed, which end soon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tracejury.doctor import Check
from tracejury_collector.config import Config, parse_config
from tracejury_collector.doctor import _keys
from tracejury_collector.keys.file import change_keys
from tracejury_collector.keys.model import new_key

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def config(folder: Path, **settings: object) -> Config:
    return parse_config({"storage": str(folder / "x.duckdb"), **settings})


def found(folder: Path, expires: list[timedelta | None], **settings: object) -> Check:
    made = [
        new_key(str(n), ["read"], NOW, expires_at=NOW + after if after else None).key
        for n, after in enumerate(expires)
    ]
    if made:
        change_keys(folder / "x.duckdb.keys", lambda _: tuple(made))
    return _keys(config(folder, **settings), NOW)


@pytest.mark.parametrize(
    ("days", "state"), [([None], "ok"), ([20], "ok"), ([None, 13], "warning"), ([-1], "warning")]
)
def test_keys_that_end_soon_are_named(tmp_path: Path, days: list[int | None], state: str) -> None:
    check = found(tmp_path, [timedelta(days=n) if n else None for n in days])
    assert check.state == state
    assert bool(check.remedy) == (state == "warning")


def test_a_service_for_this_machine_alone_needs_no_keys(tmp_path: Path) -> None:
    assert found(tmp_path, []).state == "ok"


def test_an_address_that_others_reach_fails_without_keys(tmp_path: Path) -> None:
    open_to_all = {"listen": {"api": "0.0.0.0:4319"}}
    check = found(tmp_path, [], **open_to_all)
    assert (check.state, "listen.api" in check.detail) == ("failed", True)
    allowed = found(tmp_path, [], **open_to_all, keys={"open_network": True})
    assert (allowed.state, "0.0.0.0:4319" in allowed.detail) == ("warning", True)
    assert found(tmp_path, [None], **open_to_all).state == "ok"
