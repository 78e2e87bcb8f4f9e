"""The page on rules: its example is a configuration, its SQL runs, every outcome is explained."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import duckdb
import yaml

from tests.helpers.doc_blocks import read_blocks
from tests.helpers.worker import bench, root
from tracejury_collector.config import ALWAYS, SampleSpec
from tracejury_collector.rules import DecisionOutcome
from tracejury_collector.store.sqlguard import check_select

PAGE = (Path(__file__).parents[2] / "docs/rules.md").read_text()
BLOCKS = {block.language: block.text for block in reversed(read_blocks(PAGE))}


def test_the_example_is_put_in_force_and_decides(tmp_path: Path) -> None:
    evaluators = {"answer": {"type": "non-empty-output"}, "no-loops": {"type": "no-loops"}}
    settings = {**yaml.safe_load(BLOCKS["yaml"]), "evaluators": evaluators}
    with bench(tmp_path, settings) as store:
        store.spans(root(service_name="booking", resource="{}", status="error"))
        store.after(4)
        decided = "SELECT outcome, stratum, probability FROM base.decisions"
        assert store.rows(decided) == [("selected", ALWAYS, 1.0)]
        check_select(BLOCKS["sql"])
        store.rows(BLOCKS["sql"])


def test_the_example_shows_every_setting_of_a_sample() -> None:
    (rule,) = yaml.safe_load(BLOCKS["yaml"])["rules"].values()
    assert set(rule["sample"]) == set(SampleSpec.model_fields)


def test_every_outcome_is_explained() -> None:
    assert [o for o in get_args(DecisionOutcome) if f"| `{o}` | " not in PAGE] == []


def test_the_sql_of_the_page_is_one_statement() -> None:
    assert len(duckdb.extract_statements(BLOCKS["sql"])) == 1
