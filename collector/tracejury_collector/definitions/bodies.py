"""Definitions as they are shown and stored: without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tracejury_collector.config import EvaluatorSpec, RuleSpec
from tracejury_collector.jury.building import MEMBERS

HIDDEN = "********"
"""Stands where a secret was."""

_SECRET_NAME = re.compile(
    r"(?i)(pass(word|wd|phrase)|secret|api_?key|access_?key|authorization|credential|(^|_)token)s?$"
)

Schemas = Callable[[str], Mapping[str, Any]]
"""Gives the JSON Schema of a type's config; {} where it is not known."""


def body_of(spec: EvaluatorSpec | RuleSpec, schemas: Schemas) -> dict[str, Any]:
    """Return what was written, defaults left out and secrets hidden, as JSON can hold it."""
    body = spec.model_dump(mode="json", exclude_unset=True)
    return _hidden(body, schemas) if isinstance(spec, EvaluatorSpec) else body


def secrets_in(type_name: str, config: Mapping[str, Any], schemas: Schemas) -> Iterator[str]:
    """Yield the places that hold secrets, such as `config.headers.authorization`."""
    spec = EvaluatorSpec(type=type_name, config=dict(config)).model_dump(mode="json")
    yield from _differences(spec, _hidden(spec, schemas), "")


def _hidden(spec: Mapping[str, Any], schemas: Schemas) -> dict[str, Any]:
    """Return the spec of an evaluator or of a composite's member without its secrets."""
    config = spec.get("config")
    if not isinstance(config, Mapping):
        return dict(spec)
    schema = schemas(str(spec.get("type")))
    clean = {
        key: [_hidden(m, schemas) if isinstance(m, Mapping) else m for m in value]
        if key in MEMBERS and isinstance(value, list)
        else _masked(value, _property(schema, key), schema, key)
        for key, value in config.items()
    }
    return {**spec, "config": clean}


def _masked(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> Any:
    schema = _resolved(schema, root)
    if isinstance(value, Mapping):
        return {k: _masked(v, _property(schema, k), root, str(k)) for k, v in value.items()}
    if isinstance(value, list):
        items = schema.get("items")
        return [_masked(v, items if isinstance(items, Mapping) else {}, root, name) for v in value]
    if not isinstance(value, str) or not value:
        return value
    if _is_secret(schema, root) or _SECRET_NAME.search(name):
        return HIDDEN
    return _without_secrets(value)


def _property(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the schema of a member of an object; {} where it is not known."""
    for found in (schema.get("properties", {}).get(key), schema.get("additionalProperties")):
        if isinstance(found, Mapping):
            return found
    return {}


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    found = root.get("$defs", {}).get(reference.rpartition("/")[2])
    return found if isinstance(found, Mapping) else {}


def _is_secret(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    branches = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return any(
        b.get("writeOnly") is True or b.get("format") == "password"
        for b in (_resolved(branch, root) for branch in branches if isinstance(branch, Mapping))
    )


def _without_secrets(text: str) -> str:
    """Return a URL without its password and query; any other text as it is."""
    if not text.startswith(("http://", "https://")):
        return text
    try:
        url = urlsplit(text)
    except ValueError:
        return text
    if not url.query and "@" not in url.netloc:
        return text
    host = url.netloc.rpartition("@")[2]
    user = f"{HIDDEN}@" if "@" in url.netloc else ""
    query = HIDDEN if url.query else ""
    return urlunsplit((url.scheme, user + host, url.path, query, url.fragment))


def _differences(given: Any, shown: Any, place: str) -> Iterator[str]:
    if isinstance(given, Mapping) and isinstance(shown, Mapping):
        for key, value in given.items():
            yield from _differences(value, shown[key], f"{place}.{key}".lstrip("."))
    elif isinstance(given, list) and isinstance(shown, list):
        for n, (one, other) in enumerate(zip(given, shown, strict=True)):
            yield from _differences(one, other, f"{place}[{n}]")
    elif given != shown:
        yield place
