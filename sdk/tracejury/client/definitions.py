"""Calls about rules and evaluators as they are defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracejury.client.call import call
from tracejury.client.request import Request, document, get, get_items, nothing, segment, send
from tracejury.rest import Definition, DefinitionKind


class DefinitionCalls:
    """Rules and evaluators: shown, and changed while the service runs."""

    @call
    def definitions(self, kind: DefinitionKind) -> Request[list[Definition]]:
        """Return all definitions of a kind, by name."""
        return get_items(f"/api/{kind}s", Definition)

    @call
    def definition(self, kind: DefinitionKind, name: str) -> Request[Definition]:
        """Return one definition."""
        return get(_path(kind, name), Definition)

    @call
    def define(
        self,
        kind: DefinitionKind,
        name: str,
        body: Mapping[str, Any],
        *,
        version: str | None = None,
    ) -> Request[Definition]:
        """Add or change a definition; return it as it is in force from then on.

        With a `version` only that one is changed: "*" whatever there is, "" only what is not there.
        """
        headers = _headers(version)
        return send("PUT", _path(kind, name), document(Definition), body, headers=headers)

    @call
    def undefine(
        self, kind: DefinitionKind, name: str, *, version: str | None = None
    ) -> Request[None]:
        """Take a definition of the API out of force; with a `version` only that one."""
        return send("DELETE", _path(kind, name), nothing, headers=_headers(version))


def _path(kind: DefinitionKind, name: str) -> str:
    return f"/api/{kind}s/{segment(name)}"


def _headers(version: str | None) -> dict[str, str]:
    if version is None:
        return {}
    if not version:
        return {"if-none-match": "*"}
    return {"if-match": "*" if version == "*" else f'"{version}"'}
