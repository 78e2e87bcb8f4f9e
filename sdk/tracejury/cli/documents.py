"""Files that hold one document, in YAML or JSON."""

from __future__ import annotations

from typing import Any, BinaryIO

import orjson

from tracejury.errors import DefinitionError, MissingExtraError

MAX_BYTES = 1 << 20


def read_document(file: BinaryIO, name: str) -> dict[str, Any]:
    """Return the mapping in a file; `name` is what messages call it.

    Raises: DefinitionError with the fault and the remedy; MissingExtraError for YAML without
    PyYAML.
    """
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise DefinitionError(f"{name}: is larger than {MAX_BYTES >> 10} KiB; make it smaller")
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        data = _from_yaml(content, name, error)
    if not isinstance(data, dict):
        raise DefinitionError(
            f"{name}: expected a mapping, found {type(data).__name__}; "
            "write what stands below the name in a configuration"
        )
    return data


def _from_yaml(content: bytes, name: str, not_json: orjson.JSONDecodeError) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError(
            f"{name}: not valid JSON: {not_json}; to read YAML install the extra 'server': "
            "pip install 'tracejury[server]'"
        ) from error
    try:
        data = yaml.safe_load(content.decode("utf-8"))
        return orjson.loads(orjson.dumps(data, default=str, option=orjson.OPT_NON_STR_KEYS))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise DefinitionError(f"{name}: neither JSON nor YAML: {reason}; correct it") from error
