"""Members that are names of configured evaluators, replaced by what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracejury.errors import DefinitionError
from tracejury.evaluator.validation import nearest
from tracejury_evaluators.composite.evaluator import MAX_NESTING, Composite

MAX_RESOLVED = 500
Specs = Mapping[str, Mapping[str, Any]]
"""Configured evaluators by name, each with its `type`, `config` and `criteria`."""


def with_members(name: str, specs: Specs) -> dict[str, Any]:
    """The config of a configured evaluator, the names among its members replaced.

    Configs of other types than composites are returned as they are.
    Raises: DefinitionError where a name is unknown, where composites hold each other, or where
    they hold too many members; it says which.
    """
    return _Resolver(specs).config(specs[name], (name,))


class _Resolver:
    """One walk through the members of a composite, with a count of them."""

    def __init__(self, specs: Specs) -> None:
        self._specs = specs
        self._resolved = 0

    def config(
        self, spec: Mapping[str, Any], path: tuple[str, ...], depth: int = 1
    ) -> dict[str, Any]:
        config = dict(spec.get("config") or {})
        if spec.get("type") != Composite.type:
            return config
        if depth > MAX_NESTING:
            raise DefinitionError(
                f"composites are nested deeper than {MAX_NESTING} levels: {' → '.join(path)}"
            )
        for key in ("members", "evaluators"):
            if isinstance(config.get(key), (list, tuple)):
                config[key] = [self._member(member, path, depth) for member in config[key]]
        return config

    def _member(self, given: object, path: tuple[str, ...], depth: int) -> object:
        self._resolved += 1
        if self._resolved > MAX_RESOLVED:
            raise DefinitionError(f"a composite holds more than {MAX_RESOLVED} evaluators in all")
        member = {"evaluator": given} if isinstance(given, str) else given
        if not isinstance(member, Mapping):
            return given
        named = member.get("evaluator")
        if not isinstance(named, str) or "type" in member:
            return {**member, "config": self.config(member, path, depth + 1)}
        return self._named(named, member, path, depth)

    def _named(
        self, name: str, member: Mapping[str, Any], path: tuple[str, ...], depth: int
    ) -> dict[str, Any]:
        if name in path:
            raise DefinitionError(f"composites hold each other: {' → '.join((*path, name))}")
        spec = self._specs.get(name)
        if spec is None:
            hint = nearest(name, self._specs) or "; name one of `evaluators`, or give a type"
            raise DefinitionError(f"no evaluator is named {name!r}{hint}")
        if "config" in member:
            raise DefinitionError(
                f"the member {name!r} has a config of its own; give its type instead of its name"
            )
        return {
            **member,
            "type": spec.get("type"),
            "config": self.config(spec, (*path, name), depth + 1),
            "criteria": {**(spec.get("criteria") or {}), **(member.get("criteria") or {})},
        }
