"""Pass rates in SQL and in Python are the same numbers."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.judged import Decided, insert_decided
from tracejury_collector.estimates import Judged, estimate, moments
from tracejury_collector.store.migrate import migrate

SQL = (
    "SELECT service, pass_rate, low, high, effective_n, judged, passed, mean_score, traffic, "
    "weight, weight_passed "
    "FROM base.pass_rates('service', NULL, NULL, NULL, NULL, NULL, NULL, NULL) ORDER BY service"
)

decided = st.builds(
    Decided,
    number=st.integers(0, 10_000),
    outcome=st.sampled_from(["selected"] * 4 + ["sampled_out"]),
    found=st.sampled_from(["score"] * 5 + ["skip", ""]),
    verdict=st.sampled_from(["pass", "pass", "partial", "fail", None]),
    score=st.floats(0, 1),
    probability=st.sampled_from([1.0, 0.5, 0.01]) | st.floats(1e-6, 1),
    upstream=st.sampled_from([1.0, 0.25]) | st.none(),
    stratum=st.sampled_from([None, "errors", "slow"]),
    sampled_by=st.sampled_from(["trace", "session"]),
    session_id=st.sampled_from([None, "a", "b", "c", "d"]),
    service=st.sampled_from(["booking", "search"]),
)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as opened:
        opened.execute("CREATE SCHEMA base")
        migrate(opened)
        yield opened


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(st.lists(decided, max_size=50, unique_by=lambda d: d.number))
def test_sql_and_python_estimate_the_same(
    connection: duckdb.DuckDBPyConnection, drawn: list[Decided]
) -> None:
    for table in ("traces", "decisions", "results"):
        connection.execute(f"DELETE FROM base.{table}")
    # one result makes the evaluator of the rule known, so that all decisions count for it
    insert_decided(connection, [*drawn, known := Decided(number=99_999, service="~", score=1.0)])
    found = {row[0]: row[1:] for row in connection.execute(SQL).fetchall()}
    assert set(found) == {d.service for d in [*drawn, known]}
    for service, row in found.items():
        _compare([d for d in [*drawn, known] if d.service == service], row)


def _compare(group: list[Decided], row: tuple[float | None, ...]) -> None:
    judged = [d for d in group if d.outcome == "selected" and d.found == "score"]
    made = moments([_judged(d) for d in judged])
    assert row[4:6] == (len(judged), sum(_passes(d) for d in judged))
    traffic = sum(1 / (d.upstream or 1) for d in group)
    assert row[7:] == _close((traffic, made.weight, made.weight_passed))
    expected = estimate(made)
    if expected is None:
        assert row[:4] == (None,) * 4
        assert row[6] is None
        return
    share = expected.share
    assert row[:4] == _close((share.value, share.low, share.high, expected.effective_n))
    mean = sum(_weight(d) * (d.score or 0) for d in judged) / made.weight
    assert row[6] == _close(mean)


def _close(expected: float | tuple[float, ...]) -> object:
    return pytest.approx(expected, rel=1e-9, abs=1e-9)


def _judged(d: Decided) -> Judged:
    by_session = d.sampled_by == "session" and d.session_id is not None
    return Judged(
        passes=_passes(d),
        weight=_weight(d),
        cluster=f"session {d.session_id}" if by_session else d.trace_id,
        stratum=d.stratum or "",
    )


def _weight(d: Decided) -> float:
    assert d.probability is not None
    return 1 / (d.probability * (d.upstream or 1))


def _passes(d: Decided) -> bool:
    return d.verdict == "pass" if d.verdict else d.score == 1
