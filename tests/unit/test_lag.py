from __future__ import annotations

from tracejury_collector.store.lag import WINDOW_NS, Lag

T0 = 1_000 * WINDOW_NS


def test_without_requests_there_is_no_lag() -> None:
    assert Lag().at(T0) == 0


def test_the_longest_wait_of_the_last_window_counts() -> None:
    lag = Lag()
    lag.note(T0 - 50, T0)
    lag.note(T0 - 10, T0 + 1)
    assert lag.at(T0 + 2) == 50
    assert lag.at(T0 + WINDOW_NS + 2) == 50


def test_old_waits_are_forgotten() -> None:
    lag = Lag()
    lag.note(T0 - 50, T0)
    assert lag.at(T0 + 2 * WINDOW_NS) == 0
    lag.note(T0 - 50, T0 + 3 * WINDOW_NS)
    lag.at(T0 + 4 * WINDOW_NS)
    assert lag.at(T0 + 5 * WINDOW_NS) == 0


def test_a_clock_that_jumps_back_does_not_make_lag() -> None:
    lag = Lag()
    lag.note(T0, T0 - 5)
    assert lag.at(T0) == 0
