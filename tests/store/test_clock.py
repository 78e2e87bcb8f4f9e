"""The machine's clock may be set by an hour at any moment: no wait gets longer, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.helpers.store import START_NS
from tests.helpers.worker import SECOND_NS, Clock, bench, child, root
from tests.promises.accounting import assert_balanced, counted
from tracejury.result import Score
from tracejury_collector.clock import SteadyClock

HOUR_S = 3600
REVISIONS = "SELECT revision, span_count FROM base.traces ORDER BY revision"


@dataclass
class Machine(Clock):
    """A store's clock on a machine whose clock is set."""

    ticks_ns: int = 0
    steady: Callable[[], int] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def __call__(self) -> int:
        """Return the time as the store has it."""
        return self.steady()

    def start(self, newest_ns: int = 0) -> None:
        """Start the store's clock, where the newest row is from that time."""
        steady = SteadyClock(lambda: self.now_ns, lambda: self.ticks_ns)
        steady.not_before(newest_ns)
        self.steady = steady

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        super().advance(seconds)
        self.ticks_ns += int(seconds * SECOND_NS)

    def set(self, seconds: float) -> None:
        """Set the machine's clock by so much."""
        self.now_ns += int(seconds * SECOND_NS)


def test_the_clock_follows_the_machines_and_never_goes_back() -> None:
    machine = Machine()
    assert machine() == START_NS
    machine.set(-HOUR_S)
    machine.advance(5)
    assert machine() == START_NS + 5 * SECOND_NS
    machine.set(HOUR_S + 60)
    assert machine() == machine.now_ns
    machine.start(machine.now_ns + 7)
    assert machine() == machine.now_ns + 7


@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_jump_of_an_hour_during_each_wait_holds_nothing_up(
    tmp_path: Path, jump_s: float, restarts: bool
) -> None:
    machine = Machine()
    with bench(tmp_path, clock=machine) as store:
        for number in range(1, 5):
            store.spans(root() if number == 1 else child(number=number))
            machine.set(jump_s * (-1) ** number)
            if restarts:
                machine.start(store.appender.newest_ns)
                store.restart()
            store.after(7)
            assert store.rows(REVISIONS)[-1] == (number, number), "it was not finished in time"
            assert store.judge(Score(1.0)) == 2
        assert store.rows("SELECT count(*) FROM base.results WHERE NOT superseded") == [(2,)]
        assert_balanced(counted(store.db))
