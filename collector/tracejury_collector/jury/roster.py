"""The evaluators of the configuration, checked and identified."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator, checked_defaults, criteria_hash, does_wait
from tracejury_collector.config import Config, EvaluatorSpec, JurySettings
from tracejury_collector.errors import ConfigError
from tracejury_evaluators.composite.named import Specs, with_members
from tracejury_evaluators.endpoint import Asked, asked_by, use_endpoint
from tracejury_evaluators.sql import Sql


class Builder(Protocol):
    """What makes evaluators: the registry."""

    def build(self, type_name: str, config: Mapping[str, Any]) -> Evaluator[Any]:
        """Return the evaluator; raises DefinitionError."""
        ...


RegistryFactory = Callable[[], Builder]
DEFAULT_TIMEOUT_S = JurySettings().timeout

LaneName = Literal["quick", "waiting", "query"]
"""Ways of judging that never wait for each other: by computing, by asking others, by a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A named evaluator of the configuration; a run longer than `timeout_s` is ended.

    `waits` says that a run mostly waits for something outside; `asked` is what it asks there.
    """

    name: str
    type: str
    config: Mapping[str, Any]
    fingerprint: str
    criteria: Mapping[str, Any] = field(default_factory=dict)
    criteria_hash: str = ""
    timeout_s: float = DEFAULT_TIMEOUT_S
    waits: bool = False
    asked: tuple[Asked, ...] = ()

    @property
    def lane(self) -> LaneName:
        """Where it is judged."""
        if self.is_query:
            return "query"
        return "waiting" if self.waits else "quick"

    @property
    def is_query(self) -> bool:
        """Whether the store judges it by a query; all others are for the jury's processes."""
        return self.type == Sql.type

    @property
    def identity(self) -> str:
        """What tells it from other evaluators: its fingerprint and the hash of its criteria."""
        return "+".join(filter(None, (self.fingerprint, self.criteria_hash)))


SeatOf = Callable[[str], Seat | None]
"""What finds the evaluator with an identity, whether it is still in force or not."""


def build_roster(
    config: Config, registry: Builder, names: Collection[str] | None = None
) -> dict[str, Seat]:
    """Return the configured evaluators by name; the configured judge is in force from then on.

    `names` says which of them; left out, all.

    Raises: ConfigError naming the evaluator whose type, config or criteria are wrong.
    """
    use_endpoint(config.judge.endpoint())
    specs = config.effective_evaluators()
    known = {name: spec.model_dump() for name, spec in specs.items()}
    return {
        name: _seat(name, spec, known, config.jury, registry)
        for name, spec in specs.items()
        if names is None or name in names
    }


def _seat(
    name: str, given: EvaluatorSpec, known: Specs, jury: JurySettings, registry: Builder
) -> Seat:
    try:
        spec = given.model_copy(update={"config": with_members(name, known)})
        built = registry.build(spec.type, spec.config)
        fingerprint = built.fingerprint()
        criteria = checked_defaults(built.criteria_type(), spec.criteria)
    except DefinitionError as error:
        raise ConfigError(f"evaluators.{name}: {error}") from error
    return Seat(
        name=name,
        type=spec.type,
        config=spec.config,
        fingerprint=fingerprint,
        criteria=criteria,
        criteria_hash=criteria_hash(criteria),
        timeout_s=spec.timeout or built.timeout_s or jury.timeout,
        waits=does_wait(built),
        asked=asked_by(built),
    )
