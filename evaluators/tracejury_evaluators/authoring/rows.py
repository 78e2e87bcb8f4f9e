"""The types of a registry as rows that explain them."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tracejury.evaluator import Evaluator
from tracejury.evaluator.names import WithAliases
from tracejury_evaluators.authoring.orders import TypeRow
from tracejury_evaluators.registry import FAMILIES, EvaluatorType, Registry

PAGES = "pages"
_SECTION = re.compile(r"^## (\S+)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def type_rows(registry: Registry) -> list[TypeRow]:
    """The types of a registry in their order."""
    return [type_row(row, registry.evaluator_class(row.type)) for row in registry.types()]


def type_row(row: EvaluatorType, evaluator: type[Evaluator[Any]]) -> TypeRow:
    """One type, with what its class says beyond its row."""
    return TypeRow(
        type=row.type,
        label=row.label,
        family=_families().get(row.type, "") if row.builtin else "",
        description=row.description,
        version=evaluator.version,
        origin=row.origin,
        builtin=row.builtin,
        config_schema=row.config_schema,
        criteria_schema=row.criteria_schema,
        config_aliases=_aliases(evaluator),
        criteria_aliases=_aliases(evaluator.criteria_type()),
        example=_examples().get(row.type, "") if row.builtin else "",
    )


def _aliases(model: type[WithAliases]) -> dict[str, str]:
    return dict(model.aliases)


@cache
def _families() -> Mapping[str, str]:
    """The family of each built-in type: the name of its module."""
    return {
        evaluator.type: family.__name__.rpartition(".")[2]
        for family in FAMILIES
        for evaluator in family.EVALUATORS
    }


@cache
def _examples() -> Mapping[str, str]:
    """The example in the documentation of each built-in type, as YAML."""
    found: dict[str, str] = {}
    for page in _pages():
        for name, section in _SECTION.findall(page.read_text(encoding="utf-8")):
            if match := _YAML.search(section):
                found[name] = match[1].rstrip("\n")
    return found


def _pages() -> list[Traversable]:
    """The pages about the families: in the package, or in the source tree it was installed from."""
    installed = importlib.resources.files("tracejury_evaluators") / PAGES
    source = Path(__file__).parents[3] / "docs" / "evaluators"
    folder: Traversable = installed if installed.is_dir() else source
    pages = folder.iterdir() if folder.is_dir() else ()
    return [page for page in pages if page.name.endswith(".md")]
