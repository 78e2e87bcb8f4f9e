"""Labels in the database: once each, whatever comes first, twice or late."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.helpers.otlp import logs_request_of, make_log, make_span, request_of
from tests.helpers.worker import Bench, bench
from tracejury.labels import EVENT_NAME, Label, LabelSource
from tracejury_collector.config import Limits
from tracejury_collector.receive.otlp import decode
from tracejury_collector.store.labels import (
    LabelFilter,
    add_labels,
    changes,
    delete_label,
    list_labels,
)

ROOT_ATTRIBUTES = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "booker"}
RESULT = {"gen_ai.evaluation.name": "correct", "gen_ai.evaluation.score.label": "pass"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as opened:
        yield opened


def pairs(attributes: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": k, "value": {"string_value": v}} for k, v in attributes.items()]


def a_span(number: int = 1, *, labeled: bool = False, **fields: Any) -> Span:
    """An ended span; number 1 is the root. `labeled`: with an event that is a label."""
    parent = b"" if number == 1 else (1).to_bytes(8, "big")
    event = {"name": EVENT_NAME, "time_unix_nano": 5, "attributes": pairs(RESULT)}
    base = {
        "parent_span_id": parent,
        "attributes": pairs(ROOT_ATTRIBUTES),
        "events": [event] * labeled,
    }
    return make_span(number, **{**base, **fields})


def a_label(number: int = 1, **fields: Any) -> LogRecord:
    """A log record that is a label on span `number`."""
    base = {"event_name": EVENT_NAME, "time_unix_nano": 6, "attributes": pairs(RESULT)}
    return make_log(number, **{**base, **fields})


def receive(store: Bench, *items: Span | LogRecord) -> None:
    """Receive spans or log records, one millisecond after what came before."""
    spans = [item for item in items if isinstance(item, Span)]
    logs = [item for item in items if isinstance(item, LogRecord)]
    for signal, request in (("traces", request_of(*spans)), ("logs", logs_request_of(*logs))):
        _receive(store, signal, request)


def _receive(store: Bench, signal: Any, request: Message) -> None:
    table = decode(signal, "protobuf", request.SerializeToString(), Limits()).table
    if table is not None and table.num_rows:
        store.clock.advance(0.001)
        store.appender.append("spans" if signal == "traces" else "logs", table, 0).result()


def labels(store: Bench) -> list[tuple[Any, ...]]:
    return store.rows("SELECT name, source, span_id, score FROM main.labels ORDER BY created_at")


def revisions(store: Bench) -> list[tuple[Any, ...]]:
    return store.rows("SELECT revision, span_count FROM base.traces ORDER BY 1")


SPAN_1 = f"{1:016x}"


def test_an_event_of_a_span_is_there_at_once_and_once(store: Bench) -> None:
    receive(store, a_span(labeled=True))
    expected = [("correct", "span_event", SPAN_1, 1.0)]
    assert labels(store) == expected
    store.after(4)
    receive(store, a_span(2))
    store.after(4)
    assert revisions(store) == [(1, 1), (2, 2)]
    assert labels(store) == expected


def test_a_span_that_is_sent_again_changed_brings_its_label_once(store: Bench) -> None:
    receive(store, a_span(labeled=True, end_time_unix_nano=0))
    receive(store, a_span(labeled=True))
    assert len(labels(store)) == 1


def test_a_span_that_is_sent_again_after_a_restart_and_a_week_brings_its_label_once(
    store: Bench,
) -> None:
    receive(store, a_span(labeled=True), a_span(2), a_span(3))
    store.restart()
    store.clock.advance(7 * 86_400)
    receive(store, a_span(4))  # so that the window forgets the others
    receive(store, a_span(labeled=True))
    assert store.rows("SELECT count(*) FROM base.spans") == [(5,)]
    assert len(labels(store)) == 1


def test_a_log_record_that_is_a_label_does_not_open_a_finished_trace(store: Bench) -> None:
    receive(store, a_span())
    store.after(4)
    receive(store, a_label())
    assert store.rows("FROM base.open_traces") == []
    assert store.after(300) == 0
    assert revisions(store) == [(1, 1)]
    assert labels(store) == [("correct", "log", SPAN_1, 1.0)]


def test_other_log_records_open_a_finished_trace(store: Bench) -> None:
    receive(store, a_span())
    store.after(4)
    receive(store, a_label(event_name="gen_ai.user.message"))
    store.after(300)
    assert [revision for revision, _ in revisions(store)] == [1, 2]
    assert labels(store) == []


def test_a_label_that_comes_before_its_trace_is_kept(store: Bench) -> None:
    receive(store, a_label())
    assert store.after(300) == 0
    assert store.rows("FROM main.traces") == []
    receive(store, a_span())
    store.after(4)
    joined = "SELECT l.name FROM main.labels AS l JOIN main.traces AS t USING (trace_id)"
    assert store.rows(joined) == [("correct",)]


def test_a_label_does_not_put_completion_off(store: Bench) -> None:
    receive(store, a_span())
    store.clock.advance(2.5)
    receive(store, a_label())
    assert store.after(0.6) == 1


def test_the_record_of_a_label_is_kept_whole(store: Bench) -> None:
    receive(store, a_label())
    assert store.rows(
        "SELECT event_name, attributes ->> '$.\"gen_ai.evaluation.name\"' FROM logs"
    ) == [(EVENT_NAME, "correct")]
    assert store.db.counters()["stored", "logs"] == 1
    assert store.db.counters()["stored", "labels"] == 1


def test_feedback_that_is_a_span_is_a_label_and_no_part_of_its_trace(store: Bench) -> None:
    feedback = {"logfire.feedback.name": "helpful", "helpful": "pass"}
    receive(store, a_span())
    store.after(4)
    receive(store, a_span(2, name="feedback: helpful", attributes=pairs(feedback)))
    assert store.after(300) == 0
    assert revisions(store) == [(1, 1)]
    assert labels(store) == [("helpful", "span", SPAN_1, 1.0)]


def test_a_span_whose_labels_cannot_be_stored_is_not_stored(store: Bench) -> None:
    store.db.write(
        lambda connection: connection.execute("DROP VIEW main.labels; DROP TABLE base.labels")
    ).result()
    with pytest.raises(duckdb.CatalogException):
        receive(store, a_span(labeled=True))
    assert store.rows("FROM base.spans") == []


def test_a_deleted_label_does_not_come_again_with_its_span(store: Bench) -> None:
    receive(store, a_span(labeled=True), a_span(2), a_span(3))
    [(label_id,)] = store.rows("SELECT label_id FROM main.labels")
    assert delete_label(store.db, label_id, store.clock())
    assert not delete_label(store.db, label_id, store.clock())
    store.restart()
    store.clock.advance(7 * 86_400)
    receive(store, a_span(4))  # so that the window forgets the others
    receive(store, a_span(labeled=True))
    assert labels(store) == []
    assert store.db.counters()["duplicate", "labels"] == 1


def test_a_deleted_label_of_a_sender_whose_clock_is_ahead_stays_away(store: Bench) -> None:
    ahead_ns = store.clock() + 3600 * 10**9
    add_labels(store.db, [given_label()], ahead_ns)
    assert delete_label(store.db, "a", store.clock())
    kept = "SELECT epoch_ns(deleted_at) FROM base.deleted_labels"
    assert store.rows(kept) == [(ahead_ns,)]


def given_label(label_id: str = "a", **fields: Any) -> Label:
    base: dict[str, Any] = {"name": "correct", "source": "api", "trace_id": f"{1:032x}"}
    return Label(label_id=label_id, **{**base, **fields})


def test_over_the_api_the_last_word_counts(store: Bench) -> None:
    first = add_labels(store.db, [given_label(score=1.0)], 10)
    again = add_labels(store.db, [given_label(score=1.0)], 20)
    other = add_labels(store.db, [given_label(score=0.0)], 30)
    counts = [(found.added, found.replaced, found.unchanged) for found in (first, again, other)]
    assert counts == [(1, 0, 0), (0, 0, 1), (0, 1, 0)]
    assert again.labels["a"].created_at_ns == 10
    [row] = list_labels(store.db, LabelFilter())
    assert (row["score"], row["created_at_ns"], row["received_at_ns"]) == (0.0, 30, 30)


def test_of_two_with_one_id_in_one_write_the_later_one_stands(store: Bench) -> None:
    both = [given_label(score=1.0), given_label(score=0.0)]
    found = add_labels(store.db, both, 10)
    assert (found.added, found.replaced) == (1, 1)
    assert [row["score"] for row in list_labels(store.db, LabelFilter())] == [0.0]


def test_a_deleted_label_that_is_given_again_is_there_again(store: Bench) -> None:
    for now_ns in (10, 30):
        add_labels(store.db, [given_label()], now_ns)
        assert len(list_labels(store.db, LabelFilter())) == 1
        delete_label(store.db, "a", now_ns + 1)
    assert list_labels(store.db, LabelFilter()) == []


def test_texts_that_no_database_likes_are_stored(store: Bench) -> None:
    odd = "nul\x00 \ud800 \u202e 👍"
    add_labels(store.db, [given_label(comment=odd, author=odd)], 10)
    [row] = list_labels(store.db, LabelFilter())
    assert row["comment"].startswith("nul\x00")


@st.composite
def words(draw: st.DrawFn) -> list[Label]:
    """Labels of telemetry with few ids, of which each says another thing at another time."""
    source: LabelSource = draw(st.sampled_from(["log", "span_event", "span"]))
    times = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9)), unique=True))
    return [
        given_label(label_id, source=source, created_at_ns=time_ns, comment=str(time_ns))
        for label_id, time_ns in times
    ]


@given(words(), st.data())
def test_labels_of_telemetry_come_to_the_same_in_any_order_and_number(
    said: list[Label], data: st.DataObject
) -> None:
    last: dict[str, Label] = {}
    for label in sorted(said, key=lambda label: label.created_at_ns):
        last[label.label_id] = label
    again = data.draw(st.permutations([*said, *said]))
    known: dict[str, Label] = {}
    while again:
        size = data.draw(st.integers(1, len(again)))
        known |= changes(again[:size], known, {}, 100).labels
        again = again[size:]
    assert known == last
