"""Files of dialects that users bring: YAML, or JSON, which needs no extra."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from tracejury.dialects.custom import CustomDialect, parse_dialect, refuse_duplicates
from tracejury.dialects.custom_parts import REMEDY
from tracejury.errors import DefinitionError, MissingExtraError

MAX_FILES = 20
MAX_FILE_BYTES = 256 << 10
MAX_NODES = 20_000
MAX_DEPTH = 12

Place = tuple[str | int, ...]


def read_dialects(paths: Iterable[Path | str]) -> list[CustomDialect]:
    """The tables in the files, in their order.

    Raises: DefinitionError naming file, place and remedy; MissingExtraError without PyYAML.
    """
    files = [Path(path) for path in paths]
    if len(files) > MAX_FILES:
        raise DefinitionError(
            f"{len(files)} dialect files are too many; at most {MAX_FILES} can be used"
        )
    found = [read_dialect(path) for path in files]
    refuse_duplicates(found)
    return found


def read_dialect(path: Path) -> CustomDialect:
    """The table in one file.

    Raises: DefinitionError naming file, place and remedy; MissingExtraError without PyYAML.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise DefinitionError(f"{path}: cannot be read: {error}; check the path") from error
    if len(content) > MAX_FILE_BYTES:
        raise DefinitionError(
            f"{path}: is larger than {MAX_FILE_BYTES >> 10} KiB; split it into several dialects"
        )
    if path.suffix.lower() == ".json":
        return parse_dialect(_json(content, path), str(path))
    return _from_yaml(content, path)


def _json(content: bytes, path: Path) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise DefinitionError(f"{path}: not valid JSON: {error}; correct it") from error


def _from_yaml(content: bytes, path: Path) -> CustomDialect:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError(
            f"{path}: reading YAML needs the extra 'server' (there is no module 'yaml'): "
            "pip install 'tracejury[server]', or write the file as .json"
        ) from error
    try:
        root = yaml.compose(content.decode("utf-8"), yaml.BaseLoader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise DefinitionError(f"{path}: not valid YAML: {reason}; correct it") from error
    lines: dict[Place, int] = {}
    data = _Reader(path, lines).read(root) if root is not None else None
    return parse_dialect(data, str(path), lines)


class _Reader:
    """Data of YAML nodes, every scalar as the text that is written, with the lines they stand in.

    An alias counts each time it is used, so that a small file cannot stand for a large one.
    """

    def __init__(self, path: Path, lines: dict[Place, int]) -> None:
        self._path = path
        self._lines = lines
        self._left = MAX_NODES

    def read(self, node: Any, place: Place = ()) -> Any:
        self._left -= 1
        line = node.start_mark.line + 1
        if self._left < 0 or len(place) > MAX_DEPTH:
            raise DefinitionError(
                f"{self._path}, line {line}: the file holds too much, or too deep; {REMEDY}"
            )
        self._lines.setdefault(place, line)
        if node.id == "mapping":
            return dict(self._members(node, place))
        if node.id == "sequence":
            return [self.read(item, (*place, n)) for n, item in enumerate(node.value)]
        return node.value

    def _members(self, node: Any, place: Place) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.id != "scalar":
                raise DefinitionError(f"{self._path}, line {line}: a key must be text; {REMEDY}")
            if key.value in seen:
                raise DefinitionError(
                    f"{self._path}, line {line}: the key {key.value!r} stands there twice; "
                    "remove one of them"
                )
            seen.add(key.value)
            self._lines[*place, key.value] = line
            yield key.value, self.read(value, (*place, key.value))
