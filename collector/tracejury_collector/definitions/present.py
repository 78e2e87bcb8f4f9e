"""What is in force at one moment, made of the configuration and of what the API defined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeVar

from tracejury_collector.config import (
    DEFAULT_EVALUATORS,
    DEFAULT_RULES,
    Config,
    EvaluatorSpec,
    RuleSpec,
    check_rules,
)
from tracejury_collector.definitions.bodies import Schemas, body_of, secrets_in
from tracejury_collector.in_force import InForce, from_config
from tracejury_collector.jury.roster import Seat
from tracejury_collector.store.columns import json_text
from tracejury_collector.store.definitions import DefinitionKind, Source

T = TypeVar("T")
Key = tuple[DefinitionKind, str]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A named rule or evaluator; `fault` says why it cannot be used, or cannot be built anew.

    `seat` is None for rules.
    """

    kind: DefinitionKind
    name: str
    source: Source
    body: Mapping[str, Any]
    fingerprint: str
    seat: Seat | None = None
    fault: str = ""
    holds_secrets: bool = False

    @property
    def key(self) -> Key:
        """What there is one definition of."""
        return self.kind, self.name

    @property
    def identity(self) -> str:
        """What tells an evaluator with its default criteria from all others; "" for a rule."""
        return self.seat.identity if self.seat else ""

    @cached_property
    def version(self) -> str:
        """What changes whenever the definition does: 16 hex digits."""
        said = json_text([self.source, self.fingerprint, self.identity, self.body]) or ""
        return blake2b(said.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSpecs:
    """What the API defined, by name; `seats` are its evaluators as they were built."""

    evaluators: Mapping[str, EvaluatorSpec] = field(default_factory=dict)
    rules: Mapping[str, RuleSpec] = field(default_factory=dict)
    seats: Mapping[str, Seat] = field(default_factory=dict)

    def with_spec(self, key: Key, body: Mapping[str, Any]) -> ApiSpecs:
        """Return these with one definition added or changed; an evaluator is not built yet.

        Raises: ValidationError if the body does not fit.
        """
        kind, name = key
        if kind == "rule":
            return replace(self, rules={**self.rules, name: RuleSpec.model_validate(body)})
        spec = EvaluatorSpec.model_validate(body)
        return replace(self, evaluators={**self.evaluators, name: spec})

    def with_seats(self, seats: Mapping[str, Seat]) -> ApiSpecs:
        """Return these with seats added or changed."""
        return replace(self, seats={**self.seats, **seats})

    def without(self, key: Key) -> ApiSpecs:
        """Return these without one definition."""
        kind, name = key
        if kind == "rule":
            return replace(self, rules=_without(self.rules, name))
        return replace(
            self,
            evaluators=_without(self.evaluators, name),
            seats=_without(self.seats, name),
        )


@dataclass(frozen=True, kw_only=True)
class Present:
    """What is in force, and every definition as it is shown."""

    in_force: InForce
    definitions: Mapping[Key, Definition]

    @cached_property
    def by_identity(self) -> Mapping[str, Seat]:
        """The evaluators in force by what tells them apart."""
        return {seat.identity: seat for seat in self.in_force.seats.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What the configuration defines; `roster` holds its evaluators by name."""

    config: Config
    roster: Mapping[str, Seat]
    schemas: Schemas

    def source(self, key: Key) -> Source:
        """Return who defines this: the API whatever the configuration does not."""
        kind, name = key
        if kind == "evaluator":
            in_file, by_default = self.config.evaluators, DEFAULT_EVALUATORS
            return "file" if name in in_file else "default" if name in by_default else "api"
        if self.config.rules is None:
            return "default" if name in DEFAULT_RULES else "api"
        return "file" if name in self.config.rules else "api"

    def is_fixed(self, key: Key) -> bool:
        """Whether only the configuration can change this; its default rule gives way."""
        source = self.source(key)
        return source == "file" or (source == "default" and key[0] == "evaluator")

    def joined(self, api: ApiSpecs) -> Config:
        """Return the configuration with what the API adds to it."""
        evaluators = {
            n: s for n, s in api.evaluators.items() if not self.is_fixed(("evaluator", n))
        }
        rules = {n: s for n, s in api.rules.items() if not self.is_fixed(("rule", n))}
        return self.config.model_copy(
            update={
                "evaluators": {**self.config.evaluators, **evaluators},
                "rules": {**self.config.effective_rules(), **rules},
            }
        )

    def present(self, api: ApiSpecs, faults: Mapping[Key, str] | None = None) -> Present:
        """Return what is in force with this.

        Rules with a fault are shown and not in force; evaluators with one are, as they were built
        before. Raises: ConfigError naming the rule that cannot be used.
        """
        faults = faults or {}
        broken = {name: api.rules[name] for kind, name in faults if kind == "rule"}
        config = self.joined(replace(api, rules=_without(api.rules, *broken)))
        check_rules(config)
        seats = {
            name: api.seats[name] if self._from_api(("evaluator", name), api) else self.roster[name]
            for name in config.effective_evaluators()
        }
        in_force = from_config(config, seats)
        prints = {rule.name: rule.fingerprint for rule in in_force.rules}
        shown = [
            *self._evaluators(config.effective_evaluators(), seats, api),
            *self._rules({**config.effective_rules(), **broken}, prints, api),
        ]
        return Present(
            in_force=in_force,
            definitions={d.key: replace(d, fault=faults.get(d.key, "")) for d in shown},
        )

    def holds_secrets(self, seat: Seat) -> bool:
        """Whether its config, the members of a composite replaced, holds what nobody may see."""
        return any(secrets_in(seat.type, seat.config, self.schemas))

    def _from_api(self, key: Key, api: ApiSpecs) -> bool:
        kind, name = key
        defined = api.evaluators if kind == "evaluator" else api.rules
        return name in defined and not self.is_fixed(key)

    def _evaluators(
        self, specs: Mapping[str, EvaluatorSpec], seats: Mapping[str, Seat], api: ApiSpecs
    ) -> Iterator[Definition]:
        for name, spec in specs.items():
            key: Key = ("evaluator", name)
            yield Definition(
                kind="evaluator",
                name=name,
                source="api" if self._from_api(key, api) else self.source(key),
                body=body_of(spec, self.schemas),
                fingerprint=seats[name].fingerprint,
                seat=seats[name],
                holds_secrets=self.holds_secrets(seats[name]),
            )

    def _rules(
        self, specs: Mapping[str, RuleSpec], prints: Mapping[str, str], api: ApiSpecs
    ) -> Iterator[Definition]:
        for name, spec in specs.items():
            key: Key = ("rule", name)
            yield Definition(
                kind="rule",
                name=name,
                source="api" if self._from_api(key, api) else self.source(key),
                body=body_of(spec, self.schemas),
                fingerprint=prints.get(name, ""),
            )


def _without(defined: Mapping[str, T], *names: str) -> dict[str, T]:
    return {name: value for name, value in defined.items() if name not in names}
