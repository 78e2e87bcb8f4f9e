"""Files that are set aside: each under a name of its own, whoever else sets some aside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tracejury_collector.files import keep_aside


def test_what_is_set_aside_at_the_same_moment_is_all_kept(tmp_path: Path) -> None:
    data = [str(number).encode() for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        kept = list(threads.map(lambda each: keep_aside(tmp_path / "x", each), data))
    assert [path.read_bytes() for path in kept] == data
