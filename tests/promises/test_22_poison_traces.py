"""A trace that kills every evaluator's process is given up, visibly, and holds nobody up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.test_jury_lanes import PAIRS
from tests.helpers.hostile import registry
from tests.helpers.jury import room
from tests.helpers.worker import bench, root
from tests.promises.accounting import assert_balanced, counted

POISON = 15
EVALUATORS = ["exits", "non-empty-output", "no-loops"]
SETTINGS = {
    "evaluators": {"exits": {"type": "exits"}},
    "rules": {"default": {"evaluators": EVALUATORS}},
}
POISONOUS = "trace_id LIKE '%f'"


@pytest.mark.parametrize(
    ("traces", "step"), [(150, 1), pytest.param(10_000, 16, marks=pytest.mark.slow)]
)
def test_one_poisonous_trace_among_many(tmp_path: Path, traces: int, step: int) -> None:
    """Ids are multiples of 16 but for the one, so that one alone ends as the poisonous do."""
    ids = [POISON, *range(16, 16 * traces, 16)]
    with bench(tmp_path, SETTINGS, registry()) as store:
        for first in range(0, traces, 500):
            store.spans(*[root(n) for n in ids[first : first + 500]])
        store.clock.advance(4)
        while store.worker.tick():
            pass
        with room(store, tmp_path, processes=2) as jury:
            jury.until_judged()
            assert jury.ended <= 3
        pairs = traces * len(EVALUATORS)
        assert store.rows(PAIRS) == [(pairs, pairs)]
        failed = "SELECT evaluator, error_type FROM base.results WHERE outcome = 'failure'"
        assert store.rows(failed) == [("exits", "abandoned")]
        tries = (
            "SELECT max(n) FROM base.attempts JOIN base.decisions USING (decision_id) "
            "WHERE (target_id LIKE '%f') = {} AND evaluator = 'exits'"
        )
        assert store.rows(tries.format("true")) == [(3,)]
        assert store.rows(tries.format("false")) == [(1,)]
        assert_balanced(counted(store.db))
