"""Runs on a bench: asked for at the desk, driven step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.helpers.worker import Bench, root
from tracejury_collector.runs.desk import RunDesk, RunProgress, free_by, refusal_by
from tracejury_collector.runs.driver import RunDriver
from tracejury_collector.runs.plan import RunRequest
from tracejury_collector.store.targets import TargetFilter


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


def finish(store: Bench, traces: range) -> None:
    """Receive and finish these traces."""
    for number in traces:
        store.spans(root(number))
    store.clock.advance(4)
    while store.worker.tick():
        pass
