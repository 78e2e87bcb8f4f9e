"""Runs on a bench: asked for at the desk, driven step by step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers.worker import Bench, bench, root
from tracejury_collector.runs.desk import RunDesk, RunProgress, free_by, refusal_by
from tracejury_collector.runs.driver import RunDriver
from tracejury_collector.runs.plan import RunRequest
from tracejury_collector.store.targets import TargetFilter

RULES = {
    "default": {"evaluators": ["non-empty-output", "no-loops"]},
    "third": {"sample": {"rate": 0.3}, "evaluators": ["no-loops"]},
    "errors": {"where": "has_error", "evaluators": ["no-tool-errors"]},
    "tools": {"kinds": ["tool"], "evaluators": ["defined-tools"]},
}


@dataclass
class Runs:
    """The desk and the driver over the parts of a bench."""

    store: Bench
    refusal: str = ""
    driver: RunDriver = field(init=False)
    desk: RunDesk = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Build both, as after a start of the store."""
        bench = self.store
        refusal = refusal_by(lambda _: self.refusal, free_by(bench.definitions.seat_of))
        self.driver = RunDriver(
            bench.db,
            bench.turns,
            bench.jury.poke,
            bench.clock,
            refusal=refusal,
            judges_sessions=lambda: bool(bench.definitions.in_force().rules_on("session")),
        )
        self.desk = RunDesk(bench.db, self.driver, bench.definitions, bench.clock)

    def restart(self) -> None:
        """Stop and start the store, as after a kill between two commits."""
        self.store.restart()
        self.open()

    def start(self, *, where: str = "true", **request: Any) -> str:
        """Begin a run and return its id."""
        targets = request.pop("targets", TargetFilter(where=where))
        return self.desk.start(RunRequest(targets=targets, **request)).run.run_id

    def decide(self) -> None:
        """Step until nothing is left to decide now."""
        self.store.clock.advance(0.001)
        while self.driver.step():
            pass

    def show(self, run_id: str) -> RunProgress:
        """Return how far the run is."""
        return self.desk.show(run_id)

    def decided(self, **request: Any) -> str:
        """Return the id of a run that has decided on all it was asked for."""
        run_id = self.start(**request)
        self.decide()
        return run_id

    def outcomes(self, run_id: str, column: str = "outcome") -> dict[str, str]:
        """Return what a run decided on each target, or another column of its decisions."""
        decided = f"SELECT target_id, {column} FROM base.decisions WHERE run_id = '{run_id}'"
        return dict(self.store.rows(decided))


def finish(store: Bench, traces: range) -> None:
    """Receive and finish these traces."""
    for number in traces:
        store.spans(root(number))
    store.clock.advance(4)
    while store.worker.tick():
        pass


@contextmanager
def runs_over_forty(folder: Path) -> Iterator[Runs]:
    """Give runs over forty finished traces, with rules of several kinds."""
    with bench(folder, {"rules": RULES}) as store:
        finish(store, range(1, 41))
        yield Runs(store)
