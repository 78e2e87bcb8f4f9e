"""However the spans of a trace arrive, the same trace comes of them, and the same verdicts."""

from __future__ import annotations

import os
from functools import cache
from random import Random
from typing import Any

import pytest

from tests.helpers.corpus import case_names
from tests.helpers.dialect_cases import dialect_cases
from tests.helpers.rearrival import (
    Item,
    arrivals_of,
    hand_made_items,
    recorded_items,
)
from tests.property.test_rearrival import ENCODINGS, Arrival, send
from tracejury.assemble import assemble
from tracejury.evaluator import run_evaluator
from tracejury.result import Outcome
from tracejury.view import trace_to_api
from tracejury_collector.config import DEFAULT_EVALUATORS
from tracejury_evaluators.plugins import default_registry

ORDERS = int(os.environ.get("TRACEJURY_ORDERS", "60"))
MOST_ITEMS = 60
Finding = tuple[dict[str, Any], list[Outcome]]


@cache
def cases() -> list[list[Item]]:
    """Return the spans and log records of recorded and of hand-made traces, those not too large."""
    found = [recorded_items(name) for name in case_names()]
    found += [hand_made_items(case) for case in dialect_cases()]
    return [items for items in found if 1 < len(items) <= MOST_ITEMS]


def any_arrival(random: Random, count: int) -> Arrival:
    """Any order of that many items, some of them twice or as they began, cut into requests."""
    again = [random.randrange(2 * count) for _ in range(random.randrange(4))]
    order = [*range(count), *again]
    random.shuffle(order)
    cuts = [(random.randint(1, 40), random.choice(ENCODINGS)) for _ in range(random.randint(1, 4))]
    return order, cuts


def found_in(items: list[Item], arrival: Arrival) -> dict[str, Finding]:
    """Return by trace what is rebuilt when they arrive so, and what the default jury says of it."""
    found = {}
    for trace_id, arrived in arrivals_of(send(items, arrival)).items():
        if arrived.spans:
            trace = assemble(arrived.spans, arrived.logs)
            outcomes = [run_evaluator(each, trace) for each in jury()]
            found[trace_id] = trace_to_api(trace), outcomes
    return found


@cache
def jury() -> list[Any]:
    registry = default_registry()
    return [registry.build(row.type, row.config) for row in DEFAULT_EVALUATORS.values()]


@pytest.mark.timeout(120 + ORDERS)
def test_the_trace_and_its_verdicts_do_not_depend_on_the_order() -> None:
    random = Random(13)
    for number in range(ORDERS):
        items = cases()[number % len(cases())]
        expected = in_order(number % len(cases()))
        assert expected
        assert found_in(items, any_arrival(random, len(items))) == expected, number


@cache
def in_order(case: int) -> dict[str, Finding]:
    items = cases()[case]
    return found_in(items, ([*range(len(items))], [(len(items), "protobuf")]))
