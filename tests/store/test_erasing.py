"""What is stored of an end user is deleted: everywhere, and for good."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.worker import Bench, bench, child, log, root, trace_id
from tracejury.labels import Label
from tracejury.result import Score
from tracejury_collector.erasing import Eraser
from tracejury_collector.errors import Conflict, NotFound
from tracejury_collector.store.erasures import Erased
from tracejury_collector.store.labels import add_labels

SECRET = "rosebud-7141"
EVERYWHERE = (
    *("spans", "logs", "arrivals", "traces", "messages", "tool_calls", "llm_calls", "documents"),
    *("decisions", "jobs", "attempts", "results", "labels", "session_revisions", "open_sessions"),
    *("unread", "erasures"),
)
RULES = {
    "rules": {
        "default": {"evaluators": ["non-empty-output", "no-loops"]},
        "talks": {"evaluators": ["no-loops"], "target": "session"},
    },
    "completion": {"session_idle": "10s"},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, RULES) as built:
        yield built


def talk(
    store: Bench, number: int, user: str | None, session: str | None = None, **fields: Any
) -> None:
    """Receive a trace in which a user says the secret, if it is the one who knows it."""
    secret = SECRET if user == "ada" else "hello"
    names = {"user.id": user, "gen_ai.conversation.id": session}
    attributes = ",".join(f'"{k}":"{v}"' for k, v in names.items() if v)
    text = (
        f'{{"gen_ai.operation.name":"invoke_agent","input.value":"{secret}",'
        f'"output.value":"you said {secret}"{"," if attributes else ""}{attributes}}}'
    )
    row = {"attributes": text, "user_id": user, "session_id": session, "input": secret, **fields}
    store.spans(root(number, **row))
    store.logs(log(number, body=f'"{secret}"'))


def erase(store: Bench, user: str = "ada", project: str | None = None) -> Erased:
    eraser = Eraser(store.db, store.clock)
    made = eraser.request(user, project)
    while eraser.step():
        pass
    found = eraser.find(made.id)
    assert (found.state, found.user_id) == ("done", None)
    return found.report


def dump(store: Bench) -> str:
    """Return every value of every table, as text."""
    return "\n".join(
        str(row) for table in EVERYWHERE for row in store.rows(f"SELECT * FROM base.{table}")
    )


def traces(store: Bench) -> set[int]:
    return {int(row[0], 16) for row in store.rows("SELECT DISTINCT trace_id FROM base.spans")}


def label(number: int, **fields: Any) -> Label:
    base = {"trace_id": trace_id(number), "comment": SECRET, "source": "api", "name": "correct"}
    return Label(label_id=f"label-{number}-{len(fields)}", **{**base, **fields})


def test_nothing_of_the_user_is_left_and_nothing_of_others_is_gone(store: Bench) -> None:
    talk(store, 1, "ada", "s1")
    talk(store, 2, "bob", "s2")
    store.after(4)
    store.judge(Score(1.0, reason=f"it says {SECRET}"))
    store.after(20)
    store.judge(Score(1.0, reason=f"the talk says {SECRET}"))
    said_by = [label(1), label(2, comment="fine"), label(1, trace_id="", session_id="s1")]
    add_labels(store.db, said_by, store.clock())
    store.db.write(
        lambda c: c.execute(
            "INSERT INTO base.unread VALUES ('lib', 'k', 1, ?, make_timestamp_ns(1), "
            "make_timestamp_ns(1))",
            [SECRET],
        ).fetchall()
    ).result()
    talk(store, 3, "ada", "s1")
    assert dump(store).count(SECRET) > 10
    assert erase(store) == Erased(traces=2, sessions=1, deleted=2)
    left = dump(store).replace("it says " + SECRET, "").replace("the talk says " + SECRET, "")
    assert SECRET not in left
    assert "ada" not in left
    assert store.rows("SELECT session_id FROM base.open_sessions") == []
    assert traces(store) == {2}
    for table in ("traces", "decisions", "results", "labels"):
        assert store.rows(f"SELECT count(*) > 0 FROM base.{table}") == [(True,)], table
    assert store.rows("SELECT count(*) FROM base.results WHERE reason LIKE 'it%'") == [(2,)]
    assert store.db.counters()["erased", "deleted"] == 2
    store.after(300)
    assert traces(store) == {2}


def test_in_a_session_of_one_user_traces_without_a_name_are_hers(store: Bench) -> None:
    talk(store, 1, "ada", "alone")
    talk(store, 2, None, "alone")
    talk(store, 3, "ada", "shared")
    talk(store, 4, "bob", "shared")
    talk(store, 5, None, "shared")
    talk(store, 6, None)
    talk(store, 7, "ada")
    store.after(4)
    assert Eraser(store.db, store.clock).count("ada", None) == Erased(
        traces=4, unnamed=1, sessions=2
    )
    erase(store)
    assert traces(store) == {4, 5, 6}


def test_a_session_with_others_loses_what_was_judged_of_it_as_a_whole(store: Bench) -> None:
    talk(store, 1, "ada", "shared")
    talk(store, 2, "bob", "shared")
    store.after(4)
    store.after(20)
    store.judge(Score(1.0))
    assert store.rows("SELECT count(*) FROM base.session_revisions") == [(1,)]
    erase(store)
    assert store.rows("SELECT count(*) FROM base.session_revisions") == [(0,)]
    kinds = "SELECT DISTINCT target_kind FROM base.results"
    assert store.rows(kinds) == [("trace",)]


def test_only_in_one_project_where_one_is_named(store: Bench) -> None:
    talk(store, 1, "ada", project="a")
    talk(store, 2, "ada", project="b")
    erase(store, project="a")
    assert traces(store) == {2}


def test_a_name_that_only_some_span_of_a_trace_says_counts(store: Bench) -> None:
    store.spans(root(1), child(1, 2, user_id="ada"))
    store.after(4)
    erase(store)
    assert traces(store) == set()


def test_what_the_jury_says_afterwards_is_not_kept(store: Bench) -> None:
    talk(store, 1, "ada")
    talk(store, 2, "bob")
    store.after(4)
    jobs = "SELECT count(*) FROM base.jobs"
    assert store.rows(jobs) == [(2,)]
    late = store.judged_late(Score(0.0, reason=SECRET))
    erase(store)
    late()
    reasons = "SELECT DISTINCT trace_id FROM base.results"
    assert store.rows(reasons) == [(trace_id(2),)]


def test_it_goes_on_where_a_killed_service_stopped(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracejury_collector.erasing.PAGE_TRACES", 1)
    for number in range(1, 4):
        talk(store, number, "ada")
    store.after(4)
    made = Eraser(store.db, store.clock).request("ada", None)
    for _ in range(2):
        assert Eraser(store.db, store.clock).step()
        store.restart()
    eraser = Eraser(store.db, store.clock)
    while eraser.step():
        pass
    assert eraser.find(made.id).report == Erased(traces=3, deleted=3)
    assert traces(store) == set()


def test_unknown_users_and_ids_and_too_many_requests(
    store: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert erase(store, "nobody") == Erased()
    eraser = Eraser(store.db, store.clock)
    with pytest.raises(NotFound):
        eraser.find("unknown")
    monkeypatch.setattr("tracejury_collector.erasing.MOST_WAITING", 1)
    eraser.request("eve", None)
    with pytest.raises(Conflict):
        eraser.request("mallory", None)


def test_nothing_is_deleted_while_history_is_read_again(store: Bench) -> None:
    talk(store, 1, "ada")
    held = Eraser(store.db, store.clock, lambda: True)
    held.request("ada", None)
    assert not held.step()
    assert traces(store) == {1}
