"""However the spans of a trace arrive, the same trace is rebuilt from them."""

from __future__ import annotations

from itertools import cycle, groupby
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.corpus import CORPUS, assemble_case, case_names
from tests.helpers.databases import open_database
from tests.helpers.dialect_cases import DialectCase, dialect_cases, trace_facts
from tests.helpers.rearrival import (
    Item,
    arrivals_of,
    decoded,
    hand_made_items,
    rebuilt,
    recorded_items,
    started,
)
from tracejury.view import trace_to_api
from tracejury_collector.receive.otlp import Encoding, Signal
from tracejury_collector.store.append import Appender
from tracejury_collector.store.loading import SeqRange, load_arrivals

RECORDED = case_names()
STORED = sorted(
    {folder.parent.name for folder in CORPUS.glob("captures/*/logs")} | set(RECORDED[::9])
)
ENCODINGS: tuple[Encoding, ...] = ("protobuf", "json")
SIGNALS: dict[Signal, Literal["spans", "logs"]] = {"traces": "spans", "logs": "logs"}
# The order of items by their positions, spans as they began behind them; sizes and encodings of
# requests, in turn.
Arrival = tuple[list[int], list[tuple[int, Encoding]]]

some = settings(
    max_examples=2,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@st.composite
def arrivals(draw: st.DrawFn, count: int) -> Arrival:
    """Any order of that many items, some of them twice or begun, and their cut into requests."""
    again = draw(st.lists(st.integers(0, 2 * count - 1), max_size=3))
    order = draw(st.permutations([*range(count), *again]))
    cuts = draw(st.lists(st.tuples(st.integers(1, 40), st.sampled_from(ENCODINGS)), min_size=1))
    return order, cuts


def send(items: list[Item], arrival: Arrival) -> list[tuple[Signal, pa.Table]]:
    """The items as the receiver decodes them: a request holds items of one signal."""
    order, cuts = arrival
    known = [*items, *map(started, items)]
    waiting = [known[position] for position in order]
    found: list[tuple[Signal, pa.Table]] = []
    for size, encoding in cycle(cuts):
        if not waiting:
            return found
        taken = by_signal(waiting[:size])[0]
        found.append((taken[0].signal, decoded(taken, encoding)))
        waiting = waiting[len(taken) :]
    return found


def recorded_traces(name: str) -> dict[str, dict[str, Any]]:
    return {trace.trace_id: trace_to_api(trace) for trace in assemble_case(name)}


@pytest.mark.parametrize("name", RECORDED)
@some
@given(data=st.data())
def test_a_recorded_trace_is_the_same_however_it_arrives(name: str, data: st.DataObject) -> None:
    items = recorded_items(name)
    sent = send(items, data.draw(arrivals(len(items))))
    assert rebuilt(arrivals_of(sent)) == recorded_traces(name)


@pytest.mark.parametrize("case", dialect_cases(), ids=str)
@some
@given(data=st.data())
def test_a_hand_made_trace_is_the_same_however_it_arrives(
    case: DialectCase, data: st.DataObject
) -> None:
    items = hand_made_items(case)
    sent = send(items, data.draw(arrivals(len(items))))
    assert rebuilt(arrivals_of(sent)) == {case.spans[0].trace_id: trace_facts(case)}


@pytest.mark.parametrize("logs_first", [False, True], ids=["spans first", "logs first"])
@pytest.mark.parametrize("name", STORED)
def test_a_recorded_trace_survives_the_store(name: str, logs_first: bool, tmp_path: Path) -> None:
    items = sorted(recorded_items(name), key=lambda item: (item.signal == "logs") != logs_first)
    half = len(items) // 2
    # Cut in the middle, one item sent twice, and all of it once more.
    batches = [items[:half], items[half - 1 :], items]
    with open_database(tmp_path / "db") as db:
        appender = Appender(db)
        sent = [part for batch in batches for part in by_signal(batch)]
        stored = [
            appender.append(SIGNALS[part[0].signal], decoded(part, "protobuf"), 0).result()
            for part in sent
        ]
        assert sum(answer.stored for answer in stored) == len(items)
        wanted = [
            SeqRange(trace_id=trace_id, first_seq=1, last_seq=len(items))
            for trace_id in recorded_traces(name)
        ]
        with db.read() as cursor:
            assert rebuilt(load_arrivals(cursor, wanted)) == recorded_traces(name)


def by_signal(items: list[Item]) -> list[list[Item]]:
    return [list(part) for _, part in groupby(items, key=lambda item: item.signal)]
