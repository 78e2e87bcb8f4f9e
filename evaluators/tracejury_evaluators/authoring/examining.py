"""What a file of evaluators defines, and whether each keeps the protocol."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator
from tracejury.testing import examine_evaluator
from tracejury_evaluators.adapters.uipath.folder import is_custom, registration_documents
from tracejury_evaluators.authoring.orders import Examined
from tracejury_evaluators.authoring.rows import type_row
from tracejury_evaluators.plugins import PluginRegistry, configured_plugin

PYTHON_SUFFIX = ".py"


def examine_file(path: Path) -> list[Examined]:
    """Each evaluator that the file defines, checked.

    Raises: DefinitionError naming the file where it defines none or cannot be imported.
    """
    registry = PluginRegistry(path.absolute().parent)
    registry.add(configured_plugin(f"./{path.name}", path.absolute().parent))
    rows = {row.type: row for row in registry.types()}
    found = {name: registry.evaluator_class(name) for name in registry.sources}
    return [
        _examined(rows[name], evaluator).model_copy(
            update={"documents": _uipath_documents(evaluator, path)}
        )
        for name, evaluator in found.items()
    ]


def _uipath_documents(evaluator: type[Evaluator[Any]], path: Path) -> dict[str, str]:
    """What UiPath's own command writes for an evaluator in its folder; nothing for any other."""
    foreign = getattr(evaluator, "uipath_class", None)
    if foreign is None or not is_custom(path):
        return {}
    documents = registration_documents(foreign, path)
    return {str(target): text.decode() for target, text in documents.items()}


def _examined(row: Any, evaluator: type[Evaluator[Any]]) -> Examined:
    described = type_row(row, evaluator)
    built = _with_defaults(evaluator)
    if built is None:
        return Examined(name=evaluator.__name__, row=described, fingerprint=None, config={})
    needs_criteria = any(f.is_required() for f in evaluator.criteria_type().model_fields.values())
    report = None if needs_criteria else examine_evaluator(built)
    return Examined(
        name=evaluator.__name__,
        row=described,
        fingerprint=built.fingerprint(),
        config=built.model_dump(mode="json", by_alias=True),
        report=str(report or ""),
        findings=list(report.findings) if report else [],
    )


def _with_defaults(evaluator: type[Evaluator[Any]]) -> Evaluator[Any] | None:
    """The evaluator with its config of defaults; None where some field has none."""
    if any(field.is_required() for field in evaluator.model_fields.values()):
        return None
    try:
        return evaluator()
    except ValidationError as error:
        raise DefinitionError(
            f"{inspect.getfile(evaluator)}: the defaults of {evaluator.__name__} do not fit its "
            f"own config: {error.errors()[0]['msg']}; correct the default"
        ) from error
