"""Calls about rules and evaluators as they are defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracejury.client.connection import Connection, segment
from tracejury.rest import Definition, DefinitionKind, Page


class DefinitionCalls(Connection):
    """Rules and evaluators: shown, and changed while the service runs."""

    def definitions(self, kind: DefinitionKind) -> list[Definition]:
        """Return all definitions of a kind, by name."""
        return self.get(f"/api/{kind}s", Page[Definition]).items

    def definition(self, kind: DefinitionKind, name: str) -> Definition:
        """Return one definition."""
        return self.get(_path(kind, name), Definition)

    def define(
        self,
        kind: DefinitionKind,
        name: str,
        body: Mapping[str, Any],
        *,
        version: str | None = None,
    ) -> Definition:
        """Add or change a definition; return it as it is in force from then on.

        With a `version` only that one is changed: "*" whatever there is, "" only what is not there.
        """
        answer = self.send("PUT", _path(kind, name), json=dict(body), headers=_headers(version))
        return self.parse(answer, Definition)

    def undefine(self, kind: DefinitionKind, name: str, *, version: str | None = None) -> None:
        """Take a definition of the API out of force; with a `version` only that one."""
        self.send("DELETE", _path(kind, name), headers=_headers(version))


def _path(kind: DefinitionKind, name: str) -> str:
    return f"/api/{kind}s/{segment(name)}"


def _headers(version: str | None) -> dict[str, str]:
    if version is None:
        return {}
    if not version:
        return {"if-none-match": "*"}
    return {"if-match": "*" if version == "*" else f'"{version}"'}
