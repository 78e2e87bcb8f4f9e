"""A full disk loses nothing that was acknowledged, and heals by itself once there is room."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.load import Load
from tests.helpers.receiver import left_entry
from tests.helpers.service import FAST, RunningService, eventually, running_service
from tests.promises.accounting import assert_accounts, assert_kept
from tracejury_collector.entries import Entry, pack

HEALED_S = 10.0
CONFIG = f"{FAST}database: {{checkpoint_wal: 4194304}}\nlimits: {{in_flight_bytes: 4194304}}\n"
SPANS_PER_S = 2000
ROOM = "160m"


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Give a folder on a disk of its own with little room."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk is not permitted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Leave no byte of the disk free inside the block."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
    yield
    ballast.unlink()


@contextlib.contextmanager
def no_growth(service: RunningService) -> Iterator[None]:
    """Let no file of the store grow inside the block: every write past the end fails."""
    pid = service.children()["store"].pid
    unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, unlimited[1]))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)


def refuse_and_heal(
    service: RunningService, load: Load, trouble: contextlib.AbstractContextManager[None]
) -> float:
    """Fill the disk under load; return how long after there was room spans were taken again."""
    taken = load.counts.spans
    eventually(lambda: load.counts.spans > taken, "spans are taken", log=service.log)
    with trouble:
        refused = load.counts.resent
        eventually(lambda: load.counts.resent > refused, "spans are refused", log=service.log)
        assert service.sql("SELECT count(*) > 0 FROM spans") == [[True]], "reads stay up"
        taken = load.counts.spans
    healed_s = time.monotonic()
    eventually(lambda: load.counts.spans > taken, "spans are taken again", log=service.log)
    return time.monotonic() - healed_s


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_full_disk_is_survived_without_a_restart(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, running_service(disk, CONFIG) as service:
        store = service.children()["store"].pid
        load = Load(service.otlp_http, SPANS_PER_S)
        load.start()
        took_s = [refuse_and_heal(service, load, filled(disk)) for _ in range(3)]
        took_s += [refuse_and_heal(service, load, no_growth(service)) for _ in range(3)]
        load.end()
        print(f"healed after {max(took_s):.1f} s at most")  # noqa: T201
        assert load.counts.failed == 0
        assert service.children()["store"].pid == store
        stored = service.sql("SELECT count(*), count(DISTINCT (trace_id, span_id)) FROM spans")
        assert stored == [[load.counts.spans, load.counts.spans]]
        assert_accounts(service)
        service.process.terminate()
        service.process.wait(20)
        assert_kept(service.database)
        assert max(took_s) <= HEALED_S


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_what_there_is_no_room_to_set_aside_waits_and_holds_nobody_up(tmp_path: Path) -> None:
    """A receiver finds a request that cannot be read, and damage, on a disk without a free byte."""
    with small_disk(tmp_path / "disk") as disk, running_service(disk, CONFIG) as service:
        load = Load(service.otlp_http, SPANS_PER_S)
        load.start()
        eventually(lambda: load.counts.spans, "spans are taken", log=service.log)
        broken = pack(Entry({"of": "another time"}, b"?" * 1000))
        left = broken + pack(left_entry(1 << 40)) + b"damage"
        (Path(f"{service.database}.journal") / "000000009000.segment").write_bytes(left)
        dead = service.children()["receiver-1"].pid
        with filled(disk):
            os.kill(dead, signal.SIGKILL)
            eventually(
                lambda: "cannot be set aside and stays in the journal" in service.log(),
                "it is tried",
                log=service.log,
            )
            assert service.sql("SELECT count(*) > 0 FROM spans") == [[True]], "reads stay up"
            successor = service.children()["receiver-1"].pid
        taken = load.counts.spans
        eventually(lambda: load.counts.spans > taken, "spans are taken again", log=service.log)
        eventually(lambda: len(set_aside(disk)) == 2, "both are set aside", log=service.log)
        load.end()
        assert service.children()["receiver-1"].pid == successor
        assert sorted(path.read_bytes() for path in set_aside(disk)) == sorted([broken, b"damage"])
        stored = service.sql("SELECT count(*), count(DISTINCT (trace_id, span_id)) FROM spans")
        assert stored == [[load.counts.spans + 1, load.counts.spans + 1]]
        assert_accounts(service)


def set_aside(disk: Path) -> list[Path]:
    """Return what was set aside of the journal."""
    return list(disk.glob("*.journal.damaged-*"))
