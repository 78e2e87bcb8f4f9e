"""Whatever arrives between two pages, each item that was there is listed once, in order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.api import SECOND_NS, START_NS, Api, agent_run, record_result, running_api
from tracejury.view import rfc3339

_NUMBERS = itertools.count(1)
Insert = Callable[[Api, str, int], str]
"""Adds an item that only the given word finds; the number decides about its time."""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with running_api(tmp_path_factory.mktemp("cursors")) as running:
        yield running


def add_trace(api: Api, word: str, time: int) -> str:
    """Store a trace and, as the number says, finish all traces so far."""
    number = next(_NUMBERS)
    api.store(*agent_run(number, service=word))
    if time % 2:
        api.finish()
    return f"{number:032x}"


def add_session(api: Api, word: str, time: int) -> str:
    """Finish a trace of a session of its own."""
    number = next(_NUMBERS)
    spans = [dict(span) for span in agent_run(number, service=word)]
    for span in spans:
        span["attributes"] = span["attributes"].replace(f"session-{number % 2}", f"s{number}")
        span["end_time"] = START_NS + time * SECOND_NS
    api.store(*spans)
    api.finish()
    return f"s{number}"


def add_result(api: Api, word: str, time: int) -> str:
    number = next(_NUMBERS)
    at_ns = START_NS + time * SECOND_NS
    record_result(api, decision_id=f"d{number}", evaluator=word, reason=str(number), at_ns=at_ns)
    return str(number)


def add_label(api: Api, word: str, time: int) -> str:
    label = f"l{next(_NUMBERS)}"
    said = {
        "trace_id": f"{1:032x}",
        "name": word,
        "value": True,
        "label_id": label,
        "created_at": rfc3339(START_NS + time * SECOND_NS),
    }
    assert api.http.post("/api/labels", json=said).status_code == 200
    return label


def pages(
    api: Api, path: str, limit: int, between: Callable[[], object], **chosen: str
) -> Iterator[dict[str, Any]]:
    """Yield the items of all pages; `between` two pages something happens."""
    cursor: dict[str, str] = {}
    while True:
        page = api.get(path, limit=limit, **chosen, **cursor)
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        cursor = {"cursor": page["next_cursor"]}
        between()


@pytest.mark.parametrize(
    ("path", "filtered", "key", "add"),
    [
        ("/api/traces", "service", "trace_id", add_trace),
        ("/api/sessions", "service", "session_id", add_session),
        ("/api/results", "evaluator", "reason", add_result),
        ("/api/labels", "name", "label_id", add_label),
    ],
)
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    before=st.lists(st.integers(0, 5), min_size=1, max_size=7),
    meanwhile=st.lists(st.integers(0, 9), max_size=4),
    limit=st.integers(1, 4),
)
def test_what_was_there_is_listed_once_whatever_arrives_meanwhile(
    api: Api,
    path: str,
    filtered: str,
    key: str,
    add: Insert,
    before: list[int],
    meanwhile: list[int],
    limit: int,
) -> None:
    word = f"w{next(_NUMBERS)}"
    there = [add(api, word, time) for time in before]
    whole = [item[key] for item in api.get(path, limit=1000, **{filtered: word})["items"]]
    assert sorted(whole) == sorted(there)
    arriving = iter(meanwhile)
    late: list[str] = []

    def arrive() -> None:
        late.extend(add(api, word, time) for time in itertools.islice(arriving, 1))

    seen = [item[key] for item in pages(api, path, limit, arrive, **{filtered: word})]
    assert len(set(seen)) == len(seen)
    assert [name for name in seen if name not in late] == whole
