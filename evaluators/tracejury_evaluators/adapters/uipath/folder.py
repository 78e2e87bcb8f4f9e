"""UiPath's `evals/` folder: evaluators written in `custom/`, and the JSON files that name them.

evals/evaluators/custom/my_check.py             the classes
evals/evaluators/custom/types/my-check-types.json   what each takes, as JSON Schema
evals/evaluators/my-check.json                  the evaluator: its class and its config
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator, describe
from tracejury.evaluator.validation import field_names
from tracejury_evaluators.adapters.naming import kebab
from tracejury_evaluators.adapters.uipath.definition import config_type, place
from tracejury_evaluators.adapters.uipath.evaluator import BaseEvaluator
from tracejury_evaluators.loading import load_file

CUSTOM = Path("evals/evaluators/custom")
SCHEME = "file://"
MAX_JSON_BYTES = 1 << 20
INDENTED = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
EQUIVALENTS: Mapping[str, str] = {
    "uipath-contains": "contains",
    "uipath-exact-match": "equals",
    "uipath-json-similarity": "json-similarity",
    "uipath-llm-judge-output": "llm-correctness",
    "uipath-llm-judge-trajectory": "llm-trajectory",
    "uipath-tool-call-args": "tool-args",
    "uipath-tool-call-count": "tool-count",
    "uipath-tool-call-order": "tool-sequence",
    "uipath-tool-call-output": "tool-output",
}
"""What stands here for the evaluators that UiPath brings along, by how their ids begin."""

Foreign = type[BaseEvaluator[Any, Any, Any]]


def is_custom(file: Path) -> bool:
    """Whether a file lies where UiPath's own evaluators lie."""
    return file.absolute().parent.parts[-3:] == CUSTOM.parts


def write_registration(file: str | Path) -> tuple[Path, ...]:
    """Describe the evaluators of a file in `evals/evaluators/custom`; the files that were written.

    A bare name is looked up in that folder below the current one. Settings that an evaluator's
    file has already are kept. The file is run.
    Raises: DefinitionError where it is not there, lies elsewhere, or has no evaluator that works.
    """
    path = _custom_file(Path(file))
    described = [registration_documents(foreign, path) for foreign in _classes(path)]
    files = {target: text for documents in described for target, text in documents.items()}
    for target, text in files.items():
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(text)
    return tuple(files)


def registration_documents(foreign: Foreign, path: Path) -> dict[Path, bytes]:
    """The files that describe an evaluator of the file `path`: its types, and itself.

    Raises: DefinitionError where the evaluator cannot work.
    """
    foreign.__tracejury_evaluator__()
    name = kebab(foreign.__name__)
    evaluator = path.parents[1] / f"{name}.json"
    types = path.parent / "types" / f"{name}-types.json"
    return {
        types: orjson.dumps(foreign.generate_json_type(), option=INDENTED),
        evaluator: orjson.dumps(_evaluator_json(foreign, path, evaluator), option=INDENTED),
    }


def read_evaluators(project: str | Path) -> dict[str, Evaluator[Any]]:
    """The evaluators of a project's `evals/evaluators/*.json` by their ids; their files are run.

    Raises: DefinitionError naming the file and the field that cannot be used.
    """
    folder = Path(project) / CUSTOM.parent
    if not folder.is_dir():
        raise DefinitionError(f"there is no folder {str(folder)!r}; name the project above it")
    found: dict[str, Evaluator[Any]] = {}
    for path in sorted(folder.glob("*.json")):
        name, evaluator = _read(path)
        if name in found:
            raise DefinitionError(f"{path}: the id {name!r} is another file's; rename one of them")
        found[name] = evaluator
    return found


def _custom_file(file: Path) -> Path:
    file = file if file.suffix == ".py" else file.with_name(f"{file.name}.py")
    path = file if file.exists() or file.parent != Path() else CUSTOM / file
    if not path.is_file():
        raise DefinitionError(
            f"could not find {file.name!r} in {path.parent}; "
            f"put the file in {CUSTOM} and name it there"
        )
    if not is_custom(path):
        raise DefinitionError(f"{path} lies outside of {CUSTOM}; move it there")
    return path


def _classes(path: Path) -> list[Foreign]:
    definitions = load_file(path, str(path)).definitions.values()
    found = [one for one in definitions if inspect.isclass(one) and issubclass(one, BaseEvaluator)]
    if not found:
        raise DefinitionError(
            f"could not find a class inheriting from BaseEvaluator in {path.name}; write "
            "`class MyEvaluator(BaseEvaluator[MyCriteria, MyConfig, str])`"
        )
    return found


def _evaluator_json(foreign: Foreign, path: Path, evaluator: Path) -> dict[str, Any]:
    types = f"{SCHEME}types/{kebab(foreign.__name__)}-types.json"
    return {
        "version": "1.0",
        "id": foreign.get_evaluator_id(),
        "evaluatorTypeId": types,
        "evaluatorSchema": f"{SCHEME}{path.name}:{foreign.__name__}",
        "description": inspect.cleandoc(foreign.__doc__ or ""),
        "evaluatorConfig": _defaults(foreign) | _kept(foreign, evaluator),
    }


def _defaults(foreign: Foreign) -> dict[str, Any]:
    """The config as it is if nothing is set, without what is empty."""
    try:
        config = config_type(foreign)()
    except ValidationError as error:
        raise DefinitionError(
            f"{place(foreign)}: the config cannot be written: {describe(error, 'config')}; "
            "give every field of it a default"
        ) from error
    dumped = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {name: value for name, value in dumped.items() if (name, value) != ("description", "")}


def _kept(foreign: Foreign, evaluator: Path) -> dict[str, Any]:
    """The settings that the evaluator's file has already, of fields that the config still has."""
    if not evaluator.is_file():
        return {}
    settings = _json(evaluator).get("evaluatorConfig")
    fields = config_type(foreign).model_fields.items()
    known = {field.alias or name for name, field in fields}
    given = settings if isinstance(settings, dict) else {}
    return {name: value for name, value in given.items() if name in known}


def _read(path: Path) -> tuple[str, Evaluator[Any]]:
    data = _json(path)
    name, kind, schema = (
        _text(path, data, field) for field in ("id", "evaluatorTypeId", "evaluatorSchema")
    )
    if not kind.startswith(SCHEME):
        raise DefinitionError(f"{path}: evaluatorTypeId {kind!r} is UiPath's own{_hint(kind)}")
    config = data.get("evaluatorConfig")
    adapted = _named_class(path, schema).__tracejury_evaluator__()
    try:
        return name, adapted.model_validate({} if config is None else config)
    except ValidationError as error:
        problems = describe(error, "evaluatorConfig", field_names(adapted))
        raise DefinitionError(f"{path}: {problems}") from error


def _named_class(path: Path, schema: str) -> Foreign:
    """The class that `file://my_check.py:MyCheck` names, in the folder `custom` beside the file."""
    custom = path.parent / CUSTOM.name
    file, _, name = schema.removeprefix(SCHEME).rpartition(":")
    target = (custom / file).resolve()
    if not schema.startswith(SCHEME) or not file or not target.is_relative_to(custom.resolve()):
        raise DefinitionError(
            f"{path}: evaluatorSchema {schema!r} names no file in {CUSTOM}; "
            "write it like 'file://my_check.py:MyCheck'"
        )
    classes = {found.__name__: found for found in _classes(_custom_file(target))}
    if name not in classes:
        raise DefinitionError(
            f"{path}: {file} defines no evaluator {name!r}; it defines {', '.join(classes)}"
        )
    return classes[name]


def _hint(kind: str) -> str:
    near = (ours for theirs, ours in EQUIVALENTS.items() if kind.startswith(theirs))
    ours = next(near, "")
    return f"; name the built-in type {ours!r} instead" if ours else ", and is not known here"


def _json(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        text = file.read(MAX_JSON_BYTES + 1)
    if len(text) > MAX_JSON_BYTES:
        raise DefinitionError(f"{path}: the file has over {MAX_JSON_BYTES} bytes")
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DefinitionError(f"{path}: it is no JSON: {error}; mend or remove it") from error
    if not isinstance(data, dict):
        raise DefinitionError(f"{path}: it is no JSON object; register the evaluator again")
    return data


def _text(path: Path, data: Mapping[str, Any], field: str) -> str:
    found = data.get(field)
    if not isinstance(found, str) or not found:
        raise DefinitionError(f"{path}: {field} is no text; register the evaluator again")
    return found
