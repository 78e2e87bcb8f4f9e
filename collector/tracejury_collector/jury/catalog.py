"""What is known of evaluators without importing the plugins that bring them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tracejury_collector.config import Config
from tracejury_collector.jury.roster import Seat, build_roster
from tracejury_evaluators.endpoint import Asked
from tracejury_evaluators.plugins import Plugin, PluginKind, PluginRegistry
from tracejury_evaluators.registry import EvaluatorType

MAX_TYPES = 2_000
MAX_TEXT_CHARS = 20_000
MAX_ASKED = 1_000


class _Described(BaseModel):
    """Data that a process which imported plugins has written: bounded, nothing else taken."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class PluginOrigin(_Described):
    """The plugin that brings a type."""

    kind: PluginKind
    name: str = Field(max_length=MAX_TEXT_CHARS)
    target: str = Field(max_length=MAX_TEXT_CHARS)
    package: str = Field(default="", max_length=MAX_TEXT_CHARS)

    def plugin(self) -> Plugin:
        """Return what loads it."""
        return Plugin(kind=self.kind, name=self.name, target=self.target, package=self.package)


class DescribedType(_Described):
    """A type of evaluator; `plugin` is None for those built in."""

    type: str = Field(max_length=MAX_TEXT_CHARS)
    label: str = Field(max_length=MAX_TEXT_CHARS)
    description: str = Field(max_length=MAX_TEXT_CHARS)
    config_schema: dict[str, Any]
    criteria_schema: dict[str, Any]
    builtin: bool
    origin: str = Field(max_length=MAX_TEXT_CHARS)
    plugin: PluginOrigin | None = None


class DescribedSeat(_Described):
    """A configured evaluator as it was built; its config names no other evaluator any more."""

    config: dict[str, Any]
    fingerprint: str = Field(pattern=r"^[0-9a-f]{1,64}$")
    criteria: dict[str, Any]
    criteria_hash: str = Field(pattern=r"^[0-9a-f]{0,64}$")
    timeout_s: float = Field(gt=0, allow_inf_nan=False)
    waits: bool = False
    asked: tuple[Asked, ...] = Field(default=(), max_length=MAX_ASKED)


class Catalog(_Described):
    """The types of evaluators there are, and the configured evaluators by name."""

    types: list[DescribedType] = Field(max_length=MAX_TYPES)
    seats: dict[str, DescribedSeat]

    def roster(self, config: Config) -> dict[str, Seat]:
        """Return the configured evaluators by name."""
        specs = config.effective_evaluators()
        return {
            name: Seat(name=name, type=specs[name].type, **dict(seat))
            for name, seat in self.seats.items()
        }

    def plugins(self) -> dict[str, Plugin]:
        """Return the plugins by the types that they define."""
        return {row.type: row.plugin.plugin() for row in self.types if row.plugin}


def catalog_of(
    config: Config, registry: PluginRegistry, names: Collection[str] | None = None
) -> Catalog:
    """Return what a registry knows, and what it makes of the configured evaluators, or of `names`.

    Raises: ConfigError naming the evaluator that cannot be built.
    """
    roster = build_roster(config, registry, names)
    return Catalog(
        types=[_row(row, registry.sources.get(row.type)) for row in registry.types()],
        seats={name: _seat(seat) for name, seat in roster.items()},
    )


def _row(row: EvaluatorType, plugin: Plugin | None) -> DescribedType:
    return DescribedType(
        type=row.type,
        label=row.label[:MAX_TEXT_CHARS],
        description=row.description[:MAX_TEXT_CHARS],
        config_schema=row.config_schema,
        criteria_schema=row.criteria_schema,
        builtin=row.builtin,
        origin=row.origin,
        plugin=PluginOrigin(**asdict(plugin)) if plugin else None,
    )


def _seat(seat: Seat) -> DescribedSeat:
    return DescribedSeat(
        config=dict(seat.config),
        fingerprint=seat.fingerprint,
        criteria=dict(seat.criteria),
        criteria_hash=seat.criteria_hash,
        timeout_s=seat.timeout_s,
        waits=seat.waits,
        asked=seat.asked,
    )
