"""What is in force at one moment, made of the configuration and of what the API defined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

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

Key = tuple[DefinitionKind, str]
Faults = dict[Key, str]
"""Why definitions of the API cannot be used, or cannot be built any more."""


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

    def with_spec(self, key: Key, spec: EvaluatorSpec | RuleSpec) -> ApiSpecs:
        """Return these with one definition added or changed; an evaluator is not built yet."""
        if isinstance(spec, RuleSpec):
            return replace(self, rules={**self.rules, key[1]: spec})
        return replace(self, evaluators={**self.evaluators, key[1]: spec})

    def holds(self, key: Key) -> bool:
        """Whether this is defined here."""
        return key[1] in (self.rules if key[0] == "rule" else self.evaluators)

    def with_seats(self, seats: Mapping[str, Seat]) -> ApiSpecs:
        """Return these with seats added or changed."""
        return replace(self, seats={**self.seats, **seats})

    def only(self, is_wanted: Callable[[Key], bool]) -> ApiSpecs:
        """Return the definitions that are wanted."""
        return ApiSpecs(
            evaluators={n: s for n, s in self.evaluators.items() if is_wanted(("evaluator", n))},
            rules={n: s for n, s in self.rules.items() if is_wanted(("rule", n))},
            seats={n: s for n, s in self.seats.items() if is_wanted(("evaluator", n))},
        )

    def without(self, key: Key) -> ApiSpecs:
        """Return these without one definition."""
        return self.only(lambda other: other != key)


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

    def present(self, api: ApiSpecs | None = None, faults: Faults | None = None) -> Present:
        """Return what is in force with what the API defines.

        Rules with a fault, and evaluators that were never built, are shown and not in force.
        Raises: ConfigError naming the rule that cannot be used.
        """
        api, faults = api or ApiSpecs(), faults or {}
        broken = {key for key in faults if key[0] == "rule" or key[1] not in api.seats}
        config = self.joined(api.only(lambda key: key not in broken))
        check_rules(config)
        seats = {
            name: api.seats[name] if self._from_api(("evaluator", name), api) else self.roster[name]
            for name in config.effective_evaluators()
        }
        in_force = from_config(config, seats)
        prints = {rule.name: rule.fingerprint for rule in in_force.rules}
        whole = self.joined(api)
        shown = [
            *self._evaluators(whole.effective_evaluators(), seats, api),
            *self._rules(whole.effective_rules(), prints, api),
        ]
        return Present(
            in_force=in_force,
            definitions={d.key: replace(d, fault=faults.get(d.key, "")) for d in shown},
        )

    def holds_secrets(self, seat: Seat) -> bool:
        """Whether its config, the members of a composite replaced, holds what nobody may see."""
        return any(secrets_in(seat.type, seat.config, self.schemas))

    def _from_api(self, key: Key, api: ApiSpecs) -> bool:
        return api.holds(key) and not self.is_fixed(key)

    def _evaluators(
        self, specs: Mapping[str, EvaluatorSpec], seats: Mapping[str, Seat], api: ApiSpecs
    ) -> Iterator[Definition]:
        for name, spec in specs.items():
            key: Key = ("evaluator", name)
            seat = seats.get(name)
            yield Definition(
                kind="evaluator",
                name=name,
                source="api" if self._from_api(key, api) else self.source(key),
                body=body_of(spec, self.schemas),
                fingerprint=seat.fingerprint if seat else "",
                seat=seat,
                holds_secrets=seat is not None and self.holds_secrets(seat),
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
