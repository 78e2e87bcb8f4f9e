"""The page about evaluators: complete, true to the code, and every block on it works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tracejury_evaluators.composite.named import with_members
from tracejury_evaluators.endpoint import JudgeEndpoint, use_endpoint
from tracejury_evaluators.plugins import ENTRY_POINT_GROUP, full_registry
from tracejury_evaluators.registry import (
    FAMILIES,
    EvaluatorType,
    built_in_registry,
)

ROOT = Path(__file__).parents[2]
OVERVIEW = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
FAMILY_PAGES = {
    name: (ROOT / "docs" / "evaluators" / f"{name}.md").read_text(encoding="utf-8")
    for name in [family.__name__.rsplit(".", 1)[-1] for family in FAMILIES]
}
PAGE = "\n".join([OVERVIEW, *FAMILY_PAGES.values()])
REGISTRY = built_in_registry()
TYPES = {row.type: row for row in REGISTRY.types()}


@pytest.fixture(autouse=True)
def judge() -> Iterator[None]:
    """A judge is configured, as examples that ask one take for granted."""
    use_endpoint(JudgeEndpoint(model="openai:gpt-5-mini", api_key="none"))
    yield
    use_endpoint(None)


def sections() -> dict[str, str]:
    """The text under each heading of the second level of the families' pages."""
    parts = re.split(r"^## (.+)$", "\n".join(FAMILY_PAGES.values()), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks(language: str, text: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def table(title: str, schema: dict[str, Any]) -> str:
    """The table that describes the fields of a config or criteria."""
    required = schema.get("required", [])
    rows = [
        f"| `{name}` | {default_of(name, field, required)} | {field['description']} |"
        for name, field in schema["properties"].items()
    ]
    return "\n".join([f"| {title} | default | meaning |", "|---|---|---|", *rows])


def default_of(name: str, field: dict[str, Any], required: list[str]) -> str:
    return "required" if name in required else f"`{json.dumps(field['default'])}`"


def test_every_type_has_its_section_and_every_section_its_type() -> None:
    assert list(sections()) == list(TYPES)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_overview_lists_the_types_of_a_family(family: ModuleType) -> None:
    name = family.__name__.rsplit(".", 1)[-1]
    types = ", ".join(f"`{evaluator.type}`" for evaluator in family.EVALUATORS)
    assert f"](evaluators/{name}.md) | {types} |" in OVERVIEW


@pytest.mark.parametrize("row", TYPES.values(), ids=lambda row: row.type)
def test_a_section_tells_every_field_with_its_default(row: EvaluatorType) -> None:
    section = sections()[row.type]
    for title, schema in (("config", row.config_schema), ("criteria", row.criteria_schema)):
        if schema.get("properties"):
            assert table(title, schema) in section
        else:
            assert f"no {title}" in " ".join(section.split())


@pytest.mark.parametrize("row", TYPES.values(), ids=lambda row: row.type)
def test_a_section_has_a_config_example_of_its_type(row: EvaluatorType) -> None:
    examples = [yaml.safe_load(block) for block in blocks("yaml", sections()[row.type])]
    assert examples
    for example in examples:
        types = {spec["type"] for spec in example["evaluators"].values()}
        assert types == {row.type} or (row.type == "composite" and row.type in types)


@pytest.mark.parametrize("block", blocks("yaml"), ids=range(len(blocks("yaml"))))
def test_a_config_on_the_page_builds(block: str, tmp_path: Path) -> None:
    config = yaml.safe_load(block)
    write_plugins(tmp_path)
    registry = full_registry(tmp_path, config.get("plugins", ()))
    for name, spec in config["evaluators"].items():
        registry.build(spec["type"], with_members(name, config["evaluators"]))
    for rule in config.get("rules", {}).values():
        assert set(rule["evaluators"]) <= set(config["evaluators"])


def write_plugins(folder: Path) -> None:
    """Write the plugins that the page names, from the programs on it."""
    function, definition = blocks("python")[:2]
    (folder / "checks.py").write_text(function, encoding="utf-8")
    (folder / "my_check.py").write_text(definition, encoding="utf-8")
    (folder / "my_company").mkdir()
    other = function.replace("mentions-price", "mentions-cost")
    (folder / "my_company" / "evaluators.py").write_text(other, encoding="utf-8")


@pytest.mark.parametrize("block", blocks("python"), ids=range(len(blocks("python"))))
def test_a_program_on_the_page_runs(block: str, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(block, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_the_entry_points_on_the_page_are_of_the_group_that_is_read() -> None:
    (block,) = blocks("toml")
    assert list(tomllib.loads(block)["project"]["entry-points"]) == [ENTRY_POINT_GROUP]


def test_every_block_on_the_page_is_of_a_kind_that_is_checked() -> None:
    opened = re.findall(r"^```(\w+)$", PAGE, flags=re.MULTILINE)
    assert set(opened) <= {"yaml", "python", "toml", "json"}


def test_the_example_of_an_own_evaluator_runs() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "ten_lines.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    assert run.stdout.startswith("Score(value=1.0, verdict='pass', reason='1 of 1 links cited'")
