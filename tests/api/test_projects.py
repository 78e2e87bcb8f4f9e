"""Lists of one project, for whoever sees all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.helpers.api import START_NS, Api, record_result, running_api, served
from tests.helpers.projects import OTHER, OWN, SESSION, fill, trace_of
from tracejury import Client
from tracejury_collector.store import reads
from tracejury_collector.store.events import ResultEvents, next_results
from tracejury_collector.store.reads import ResultFilter, list_results

START_LATER = START_NS + 1000
LISTS = {"traces": 1, "sessions": 1, "results": 2, "labels": 2}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with running_api(tmp_path_factory.mktemp("projects")) as running:
        fill(running)
        yield running


@pytest.fixture(scope="module")
def client(api: Api) -> Iterator[Client]:
    with served(api) as url, Client(url) as client:
        yield client


@pytest.mark.parametrize(("name", "count"), LISTS.items())
def test_a_list_can_be_of_one_project(client: Client, name: str, count: int) -> None:
    call = getattr(client, name)
    assert len(call().items) == 2 * count
    for project, left_out in ((OWN, OTHER), (OTHER, OWN)):
        items = call(project=project).items
        assert len(items) == count
        said = json.dumps([item.model_dump(mode="json") for item in items])
        assert project in said or trace_of(project) in said
        assert left_out not in said
        assert trace_of(left_out) not in said
    assert call(project="nobody").items == []


def test_results_of_a_project_are_found_behind_any_number_of_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "_LOOK_RESULTS", 2)
    other = {"trace_id": trace_of(OTHER), "target_id": trace_of(OTHER), "superseded": True}
    for number in range(5):
        record_result(api, decision_id=f"late-{number}", at_ns=START_LATER + number, **other)
    everything = ResultFilter(superseded=True, project=OWN)
    assert len(list_results(api.context.db, everything)) == LISTS["results"]
    page = list_results(api.context.db, ResultFilter(superseded=True, project=OTHER, limit=2))
    assert [row["decision_id"] for row in page] == ["late-4", "late-3"]


def test_live_results_can_be_of_one_project(api: Api) -> None:
    told = next_results(api.context.db, (0,), ResultEvents(project=OWN)).rows
    assert {row["decision_id"] for _, row in told} == {f"{OWN}/{SESSION}-{n}" for n in (1, 2)}
