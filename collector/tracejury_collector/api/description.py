"""What /openapi.json says beyond the routes: how they refuse, and what they take and answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from tracejury_collector.api.dependencies import MEANINGS
from tracejury_collector.api.problems import MEDIA_TYPE

JSON = "application/json"
_PROBLEM = {"$ref": "#/components/schemas/Problem"}


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Return by operation what was sent (`request`) and answered (`answers`, by status)."""
    found: dict[str, dict[str, Any]] = orjson.loads(
        (files("tracejury_collector.api") / "examples.json").read_bytes()
    )
    return found


def described(describe: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Return `describe` with every refusal as the problem document it is, and with examples."""

    def whole() -> dict[str, Any]:
        document = describe()
        for operation in _operations(document):
            _refusals(operation)
            _examples(operation)
        for unused in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(unused, None)
        return document

    return whole


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def _refusals(operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        if status >= "400":
            response["description"] = MEANINGS[int(status)]
            example = examples()["problem"]["answers"].get(status, {})
            response["content"] = {MEDIA_TYPE: {"schema": _PROBLEM, "example": example}}


def _examples(operation: dict[str, Any]) -> None:
    known = examples().get(operation["operationId"], {})
    if "request" in known:
        operation["requestBody"]["content"][JSON]["example"] = known["request"]
    for status, answer in known.get("answers", {}).items():
        operation["responses"][status]["content"][JSON]["example"] = answer
