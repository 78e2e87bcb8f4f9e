"""The evaluators of the configuration, checked and identified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator
from tracejury_collector.config import Config
from tracejury_collector.errors import ConfigError


class Builder(Protocol):
    """What makes evaluators: the registry."""

    def build(self, type_name: str, config: Mapping[str, Any]) -> Evaluator[Any]:
        """Return the evaluator; raises DefinitionError."""
        ...


RegistryFactory = Callable[[], Builder]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A named evaluator of the configuration."""

    name: str
    type: str
    config: Mapping[str, Any]
    fingerprint: str


def build_roster(config: Config, registry: Builder) -> dict[str, Seat]:
    """Return the configured evaluators by name.

    Raises: ConfigError naming the evaluator whose type or config is wrong.
    """
    roster = {}
    for name, spec in config.effective_evaluators().items():
        try:
            fingerprint = registry.build(spec.type, spec.config).fingerprint()
        except DefinitionError as error:
            raise ConfigError(f"evaluators.{name}: {error}") from error
        roster[name] = Seat(name=name, type=spec.type, config=spec.config, fingerprint=fingerprint)
    return roster
