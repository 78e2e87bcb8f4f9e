"""`tracejury register evaluator`: a file of evaluators checked, and described in JSON beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tracejury.errors import DefinitionError
from tracejury_evaluators.authoring.apart import ask
from tracejury_evaluators.authoring.generating import UIPATH_FOLDER
from tracejury_evaluators.authoring.orders import Examine, Examined

TIMEOUT_S = 60.0
TYPES_FOLDER = "types"
INDENTED = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """What became of one evaluator of a file: what was found, and which files say so.

    `kept` is a config that was there before and was not touched; `foreign` evaluators are
    described in the files of their own system.
    """

    examined: Examined
    written: tuple[Path, ...] = ()
    kept: Path | None = None
    foreign: bool = False

    @property
    def is_bad(self) -> bool:
        """Whether it breaks the protocol; other systems' evaluators are held to their own."""
        return bool(self.examined.findings) and not self.foreign


def register_file(path: Path) -> list[Registered]:
    """Check the evaluators that a file defines; describe them where none breaks the protocol.

    The file is imported in a process of its own.
    Raises: DefinitionError naming the file; OSError where it cannot be written beside.
    """
    in_folder = UIPATH_FOLDER / path
    if not path.exists() and path.parent == Path() and in_folder.is_file():
        path = in_folder
    if path.suffix != ".py" or not path.is_file():
        raise DefinitionError(f"{path} is no Python file; name the file that holds the evaluator")
    lost = f"{path}: the check did not end; an evaluator of it runs on, or ends the process"
    found = ask(Examine(file=str(path.absolute())), TIMEOUT_S, lost)
    examined = found.examined or []
    if found.written is not None:
        return _written_there(examined, [Path(file) for file in found.written])
    if any(one.findings for one in examined):
        return [Registered(examined=one) for one in examined]
    return [_registered(path, one) for one in examined]


def _written_there(examined: list[Examined], written: list[Path]) -> list[Registered]:
    """The evaluators of a file in UiPath's folder; each has two files, in the same order."""
    pairs = list(zip(written[::2], written[1::2], strict=True))
    return [
        Registered(examined=one, written=files, foreign=True)
        for one, files in zip(examined, pairs, strict=True)
    ]


def _registered(path: Path, one: Examined) -> Registered:
    if one.documents:
        return Registered(examined=one, written=tuple(_uipath_files(one)))
    files = dict(_documents(path, one))
    config, types = files
    types.parent.mkdir(exist_ok=True)
    types.write_bytes(orjson.dumps(files[types], option=INDENTED))
    if config.exists():
        return Registered(examined=one, written=(types,), kept=config)
    config.write_bytes(orjson.dumps(files[config], option=INDENTED))
    return Registered(examined=one, written=(types, config))


def _uipath_files(one: Examined) -> Iterator[Path]:
    """Write what describes an evaluator in UiPath's folder; settings made there are in it."""
    for name, text in one.documents.items():
        target = Path(name)
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
        yield target


def _documents(path: Path, one: Examined) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The config that names the evaluator, and the description of its type."""
    stem = re.sub("[^a-z0-9]+", "-", one.row.type.lower()).strip("-")
    yield path.with_name(f"{stem}.json"), config_document(path, one)
    yield (
        path.with_name(TYPES_FOLDER) / f"{stem}-types.json",
        {
            "type": one.row.type,
            "label": one.row.label,
            "description": one.row.description,
            "version": one.row.version,
            "fingerprint": one.fingerprint,
            "file": f"file://{path.name}:{one.name}",
            "config_schema": one.row.config_schema,
            "criteria_schema": one.row.criteria_schema,
        },
    )


def config_document(path: Path, one: Examined) -> dict[str, Any]:
    """What brings the evaluator into a configuration that lies beside its file."""
    return {
        "plugins": [f"./{path.name}"],
        "evaluators": {one.row.type: {"type": one.row.type, "config": one.config}},
    }
