"""Hashes that are the same in every process, whatever the order of keys or sets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

MAX_DEPTH = 100


def fingerprint_of(
    type_name: str, version: int, config: Mapping[str, Any], source_hash: str = ""
) -> str:
    """16 hex digits of an evaluator's type, version, config and, where it has one, its source."""
    return _digest([type_name, version, config, *filter(None, [source_hash])])


def criteria_hash(criteria: Mapping[str, Any] | BaseModel | None) -> str:
    """16 hex digits of a case's criteria; "" where there are none.

    Raises: ValueError where they are nested deeper than 100 levels.
    """
    given = (
        criteria.model_dump(by_alias=True, exclude_unset=True)
        if isinstance(criteria, BaseModel)
        else criteria
    )
    return _digest(given) if given else ""


def _digest(value: object) -> str:
    text = json.dumps(_canonical(value, MAX_DEPTH), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("ascii"), digest_size=8).hexdigest()


def _canonical(value: object, depth: int) -> Any:
    if depth < 0:
        raise ValueError(f"this is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {str(key): _canonical(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item, depth - 1) for item in value]
    if isinstance(value, AbstractSet):
        return sorted((_canonical(item, depth - 1) for item in value), key=_sort_key)
    if value is None or isinstance(value, (str, int, float)):
        return value
    return to_jsonable_python(value, fallback=str, bytes_mode="base64")


def _sort_key(item: object) -> str:
    return json.dumps(item, sort_keys=True)
