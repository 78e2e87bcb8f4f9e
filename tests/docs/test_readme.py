from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tracejury_collector.config import parse_config

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = next(block.strip() for block in blocks("sh") if "pytest" in block)
    assert command in (ROOT / ".ci/run").read_text()


def test_the_configuration_in_the_readme_is_valid() -> None:
    (example,) = blocks("yaml")
    assert parse_config(yaml.safe_load(example)).rules


def test_the_python_in_the_readme_compiles() -> None:
    for example in blocks("python"):
        compile(example, "README.md", "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [t for t in targets if not (page.parent / t).exists()] == []
