"""Having processes of the service die at named points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.service import RunningService, eventually
from tracejury_collector import failpoints


@dataclass(frozen=True, kw_only=True)
class Failpoint:
    """Where a process is to die; after `delay_ms`, or at once."""

    name: str
    delay_ms: float = 0.0


@dataclass(frozen=True)
class Failpoints:
    """The points of a service that was started under `failpoints_in`."""

    folder: Path

    def kill(self, service: RunningService, *points: Failpoint) -> None:
        """Have one process die at each of the points, and wait until all are replaced."""
        for point in points:
            self._arm(point)
        dead = {self._killed(service, point) for point in points}
        eventually(
            lambda: service.is_ready() and not dead & _pids(service),
            f"what died at {[point.name for point in points]} is replaced",
            timeout_s=60,
            log=service.log,
        )

    def _arm(self, point: Failpoint) -> None:
        staged = self.folder / f".{point.name}"
        staged.write_text(str(point.delay_ms))
        staged.rename(self.folder / point.name)

    def _killed(self, service: RunningService, point: Failpoint) -> int:
        """Return the id of the process that died at the point, once it is dead."""
        found: list[int] = []

        def is_dead() -> bool:
            for file in self.folder.glob(f"{point.name}.[0-9]*"):
                found.append(int(file.name.rpartition(".")[2]))
                file.unlink()
            return bool(found) and found[0] not in _pids(service)

        eventually(is_dead, f"a process dies at {point.name}", timeout_s=60, log=service.log)
        return found[0]


def _pids(service: RunningService) -> set[int]:
    return {child.pid for child in service.children().values()}


@contextmanager
def failpoints_in(folder: Path) -> Iterator[Failpoints]:
    """Let the points of services that are started inside the block be armed."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(failpoints.VARIABLE, str(folder))
        yield Failpoints(folder)
