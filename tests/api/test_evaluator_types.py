"""The types of evaluators, built in and brought by plugins."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.api import Api, running_api, served
from tracejury import Client
from tracejury_evaluators.registry import BUILT_IN

GREETS = """
from tracejury import Trace, evaluator

@evaluator("greets", label="Greets people")
def greets(trace: Trace, *, name: str = "") -> bool:
    "Passes if the answer greets."
    return name in trace.output_text
"""


def test_the_types_built_in_are_listed_in_their_order(shared: Api) -> None:
    page = shared.get("/api/evaluator-types")
    assert [row["type"] for row in page["items"]] == [cls.type for cls in BUILT_IN]
    assert page["next_cursor"] is None
    for row in page["items"]:
        assert (row["builtin"], row["origin"], row["plugin"]) == (True, "built_in", None)
        assert row["config_schema"]["type"] == row["criteria_schema"]["type"] == "object"
    assert shared.get("/api/plugins") == {"items": [], "next_cursor": None}


def test_unknown_parameters_are_refused(shared: Api) -> None:
    for path in ("/api/evaluator-types", "/api/plugins"):
        assert shared.http.get(path, params={"limt": 3}).status_code == 422


def test_the_types_of_plugins_say_where_they_come_from(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text(GREETS)
    plugin = str(tmp_path / "checks.py")
    with running_api(tmp_path, plugins=[plugin]) as api:
        page = api.get("/api/plugins")
        assert [row["type"] for row in page["items"]] == ["greets"]
        row = page["items"][0]
        assert row == api.get("/api/evaluator-types")["items"][-1]
        assert (row["label"], row["description"]) == (
            "Greets people",
            "Passes if the answer greets.",
        )
        assert (row["builtin"], row["origin"], row["plugin"]) == (False, "file", plugin)
        assert row["config_schema"]["properties"]["name"]["default"] == ""
        with served(api) as url, Client(url) as client:
            assert client.plugins()[0].type == "greets"
            assert len(client.evaluator_types()) == len(BUILT_IN) + 1
