"""What the API defined in earlier days, put in force again at a start."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from tracejury_collector.config import Config, EvaluatorSpec, RuleSpec
from tracejury_collector.definitions.events import seat_from
from tracejury_collector.definitions.present import ApiSpecs, Base, Faults, Key
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.roster import Seat
from tracejury_collector.store.definitions import DefinitionEvent

log = logging.getLogger(__name__)

Build = Callable[[Config, Collection[str]], Mapping[str, Seat]]
"""Builds these evaluators of a configuration; raises ConfigError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What the API defines; `unreadable` is kept for a release that can read it."""

    api: ApiSpecs
    faults: Faults
    unreadable: frozenset[Key]


def restored(base: Base, build: Build, events: Iterable[DefinitionEvent]) -> Restored:
    """Return what the API had defined when the service ended.

    What cannot be used any more must not keep the service from starting: it comes with its fault.
    """
    recorded = [e for e in events if e.source == "api" and e.state != "ended"]
    api, unreadable = _read(base, recorded)
    seats, faults = _rebuilt(base, build, api, recorded)
    api = api.with_seats(seats)
    faults = settled(base, api, faults | {("rule", name): "" for name in api.rules})
    for (kind, name), fault in faults.items():
        log.warning("%s %r, defined over the API, cannot be used: %s", kind, name, fault)
    return Restored(api=api, faults=faults, unreadable=unreadable)


def settled(base: Base, api: ApiSpecs, faults: Faults) -> Faults:
    """Return the faults that remain once every rule among them was tried again."""
    for key in [key for key in faults if key[0] == "rule"]:
        others = {k: fault for k, fault in faults.items() if k != key}
        try:
            base.present(api, others)
            faults = others
        except ConfigError as error:
            faults = {**others, key: str(error)}
    return faults


def _read(base: Base, recorded: Iterable[DefinitionEvent]) -> tuple[ApiSpecs, frozenset[Key]]:
    """Return what the events define beside the configuration, and what cannot be read."""
    api, unreadable = ApiSpecs(), set()
    for event in recorded:
        key: Key = ("evaluator" if event.kind == "evaluator" else "rule", event.name)
        if base.is_fixed(key):
            log.warning("%s %r of the API gives way to that of the configuration", *key)
            continue
        try:
            kind = EvaluatorSpec if key[0] == "evaluator" else RuleSpec
            api = api.with_spec(key, kind.model_validate_json(event.body))
        except ValidationError as error:
            log.warning("%s %r, defined over the API, cannot be read: %s", *key, error)
            unreadable.add(key)
    return api, frozenset(unreadable)


def _rebuilt(
    base: Base, build: Build, api: ApiSpecs, recorded: Iterable[DefinitionEvent]
) -> tuple[Mapping[str, Seat], Faults]:
    """Return the evaluators as they are built now, else as they were before, with the fault."""
    config = base.joined(api)
    with contextlib.suppress(ConfigError):
        return build(config, api.evaluators), {}
    before = {e.name: e.seat for e in recorded if e.kind == "evaluator"}
    seats: dict[str, Seat] = {}
    faults: Faults = {}
    for name in api.evaluators:
        try:
            seats |= build(config, [name])
        except ConfigError as error:
            faults["evaluator", name] = str(error)
            text = before.get(name)
            if text:
                seats[name] = seat_from(text)
    return seats, faults
