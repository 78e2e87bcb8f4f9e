"""Evaluators built from specs, in this process or apart from it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tracejury.errors import DefinitionError
from tracejury_collector.config import Config
from tracejury_collector.jury.catalog import Catalog
from tracejury_collector.jury.describe import describe_apart
from tracejury_collector.jury.roster import Builder, Seat, build_roster
from tracejury_evaluators.composite.named import with_members
from tracejury_evaluators.plugins import PluginRegistry

MEMBERS = ("members", "evaluators")
"""The settings of a composite that hold evaluators."""


class SeatBuilder(Protocol):
    """What makes seats of the evaluators that a configuration names."""

    def build(self, config: Config, names: Collection[str]) -> Mapping[str, Seat]:
        """Return these evaluators of the configuration.

        Raises: ConfigError naming the evaluator, what is wrong with it, and the remedy.
        """
        ...

    def config_schema(self, type_name: str) -> Mapping[str, Any]:
        """Return the JSON Schema of the type's config; {} where it is not known."""
        ...


class RegistrySeats:
    """Builds in this process, by a registry; `schemas` are those of its types."""

    def __init__(self, registry: Builder, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        self._registry = registry
        self._schemas = schemas

    def build(self, config: Config, names: Collection[str]) -> Mapping[str, Seat]:
        return build_roster(config, self._registry, names)

    def config_schema(self, type_name: str) -> Mapping[str, Any]:
        return self._schemas.get(type_name, {})


class CatalogSeats:
    """Builds in this process what is built in, and all else in a process that imports plugins."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._schemas = {row.type: row.config_schema for row in catalog.types}
        self._built_in = frozenset(row.type for row in catalog.types if row.builtin)
        self._registry = PluginRegistry(folder)

    def build(self, config: Config, names: Collection[str]) -> Mapping[str, Seat]:
        if self._all_built_in(config, names):
            return build_roster(config, self._registry, names)
        return describe_apart(config, self._folder, names=names).roster(config)

    def config_schema(self, type_name: str) -> Mapping[str, Any]:
        return self._schemas.get(type_name, {})

    def _all_built_in(self, config: Config, names: Collection[str]) -> bool:
        try:
            return all(used <= self._built_in for used in _types_used(config, names))
        except DefinitionError:
            return True  # nothing need be imported to refuse what names unknown members


def _types_used(config: Config, names: Collection[str]) -> Iterator[frozenset[str]]:
    """Yield the types of each of these evaluators: its own, and those of its members."""
    known = {name: spec.model_dump() for name, spec in config.effective_evaluators().items()}
    for name in names:
        spec = {**known[name], "config": with_members(name, known)}
        yield frozenset(types_in(spec))


def types_in(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types in a spec: that of the evaluator, and those of its members."""
    yield str(spec.get("type"))
    for member in members_of(spec):
        yield from types_in(member)


def members_of(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the members that are written out in a spec."""
    config = spec.get("config")
    if not isinstance(config, Mapping):
        return
    for key in MEMBERS:
        members = config.get(key)
        if isinstance(members, Sequence):
            yield from (m for m in members if isinstance(m, Mapping) and "type" in m)
