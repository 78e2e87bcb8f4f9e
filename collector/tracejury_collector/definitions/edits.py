"""Changes of what the API defines, checked before anything is built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracejury_collector.config import EvaluatorSpec, RuleSpec
from tracejury_collector.definitions.bodies import body_of
from tracejury_collector.definitions.checks import (
    check_depth,
    check_evaluator,
    check_name,
    members_named,
)
from tracejury_collector.definitions.present import ApiSpecs, Base, Definition, Faults, Key
from tracejury_collector.definitions.restoring import settled
from tracejury_collector.errors import Conflict
from tracejury_evaluators.composite import Composite

MAX_OF_KIND = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What the API defines afterwards, and which of its evaluators must be built for that."""

    key: Key
    api: ApiSpecs
    to_build: tuple[str, ...] = ()
    is_end: bool = False

    def faults(self, base: Base, api: ApiSpecs, before: Faults) -> Faults:
        """Return the faults that remain; rules that could not be used are tried again."""
        built = {("evaluator", name) for name in self.to_build}
        left = {k: fault for k, fault in before.items() if k != self.key and k not in built}
        return settled(base, api, left)


def added(
    base: Base, api: ApiSpecs, key: Key, spec: EvaluatorSpec | RuleSpec, *, commands: bool
) -> Edit:
    """Return the edit that adds or changes one definition.

    Raises: Conflict if the API cannot change it; ConfigError naming what is wrong with it.
    """
    _refuse_fixed(base, key)
    kind, name = key
    check_name(name)
    check_depth(spec.model_dump())
    others: int = len(api.rules if kind == "rule" else api.evaluators)
    if others >= MAX_OF_KIND and not api.holds(key):
        raise Conflict(f"{others} {kind}s are defined; take those away that nobody needs")
    if isinstance(spec, EvaluatorSpec):
        check_evaluator(name, spec, base.schemas, commands=commands)
    edited = api.with_spec(key, spec)
    affected = [name, *_composites(edited)] if kind == "evaluator" else []
    return Edit(key=key, api=edited, to_build=tuple(dict.fromkeys(affected)))


def removed(base: Base, api: ApiSpecs, definition: Definition) -> Edit:
    """Return the edit that takes one definition out of force.

    Raises: Conflict if the API cannot take it, or if rules or composites use it.
    """
    _refuse_fixed(base, definition.key)
    if definition.source == "default":
        raise Conflict(
            f"the rule {definition.name!r} is there by default; "
            "write `rules: {}` in the configuration file to have none"
        )
    users = list(_users(api, definition.name)) if definition.kind == "evaluator" else []
    if users:
        raise Conflict(
            f"the evaluator {definition.name!r} is used by {', '.join(users[:10])}; "
            "change or remove these first"
        )
    return Edit(key=definition.key, api=api.without(definition.key), is_end=True)


def _refuse_fixed(base: Base, key: Key) -> None:
    kind, name = key
    if not base.is_fixed(key):
        return
    if base.source(key) == "default":
        raise Conflict(f"the {kind} {name!r} is there by default; choose another name")
    raise Conflict(
        f"the {kind} {name!r} is defined in the configuration file; "
        "change it there and start the service again"
    )


def _composites(api: ApiSpecs) -> Iterator[str]:
    """Yield the evaluators that may hold others by name."""
    yield from (name for name, spec in api.evaluators.items() if spec.type == Composite.type)


def _users(api: ApiSpecs, evaluator: str) -> Iterator[str]:
    """Yield what names this evaluator, in words."""
    for name, rule in api.rules.items():
        if evaluator in rule.evaluators:
            yield f"rule {name!r}"
    for name in _composites(api):
        if evaluator in members_named(body_of(api.evaluators[name], lambda _: {})):
            yield f"evaluator {name!r}"
