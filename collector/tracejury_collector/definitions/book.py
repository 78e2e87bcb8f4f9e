"""The book of definitions: what is in force now, and what was when a job was selected."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from tracejury_collector.config import Config, EvaluatorSpec, RuleSpec
from tracejury_collector.definitions.bodies import body_of
from tracejury_collector.definitions.checks import check_evaluator
from tracejury_collector.definitions.edits import Edit, added, removed
from tracejury_collector.definitions.events import Latest, changes, ended, seat_from, seat_text
from tracejury_collector.definitions.present import Base, Definition, Key
from tracejury_collector.definitions.restoring import restored
from tracejury_collector.errors import NotFound, PreconditionFailed, Unavailable
from tracejury_collector.in_force import InForce
from tracejury_collector.jury.building import SeatBuilder
from tracejury_collector.jury.lane import check_query
from tracejury_collector.jury.roster import Seat
from tracejury_collector.store.columns import json_text
from tracejury_collector.store.database import Database
from tracejury_collector.store.definitions import (
    DefinitionEvent,
    DefinitionKind,
    append_definitions,
    latest_definitions,
    seat_json,
)

MAX_FORMER = 1_000
WAIT_S = 40.0
"""How long a change waits for the one before, which may import plugins meanwhile."""

ANY = "*"
Expected = Collection[str] | None
"""Versions that a definition may have to be changed: None any or none, `ANY` any, empty none."""


class Definitions:
    """Rules and evaluators: asked by many threads, changed by one at a time.

    What is in force is replaced as a whole, once it is on disk: a decision never names a version
    that a restart would not find.
    """

    def __init__(
        self,
        db: Database,
        config: Config,
        roster: Mapping[str, Seat],
        builder: SeatBuilder,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Put in force what the configuration and, in earlier days, the API defined.

        `roster` holds the evaluators of the configuration.
        Raises: ConfigError naming the rule or evaluator of the configuration that cannot be used.
        """
        self._db = db
        self._builder = builder
        self._now_ns = now_ns
        self._commands = config.definitions.commands
        self._turn = threading.Lock()
        self._former: dict[str, Seat] = {}
        self._base = Base(config=config, roster=roster, schemas=builder.config_schema)
        for seat in roster.values():
            check_query(seat)
        self._base.present()
        events = latest_definitions(db)
        found = restored(self._base, self._built, events)
        self._api, self._faults = found.api, found.faults
        self._present = self._base.present(self._api, self._faults)
        latest = {key: event for event in events if (key := _key(event)) not in found.unreadable}
        self._latest: Latest = latest
        self._record(changes(latest, self._present.definitions, self._next_ns()))

    def in_force(self) -> InForce:
        """Return what is in force at this moment."""
        return self._present.in_force

    def seat_of(self, identity: str) -> Seat | None:
        """Return the evaluator that is or once was in force, or tried, with this identity.

        None for one that is unknown, or that held a secret and is in force no more.
        Raises: Unavailable or duckdb.Error when the database cannot be read now.
        """
        seat = self._present.by_identity.get(identity) or self._former.get(identity)
        return seat or self._recalled(identity)

    def of_kind(self, kind: DefinitionKind) -> list[Definition]:
        """Return all definitions of this kind, by name."""
        found = self._present.definitions
        return [found[key] for key in sorted(found) if key[0] == kind]

    def get(self, kind: DefinitionKind, name: str) -> Definition:
        """Return one definition.

        Raises: NotFound if there is none.
        """
        found = self._present.definitions.get((kind, name))
        if found is None:
            raise NotFound(f"no {kind} is named {name!r}; GET /api/{kind}s lists them")
        return found

    def is_editable(self, definition: Definition) -> bool:
        """Say whether the API can change a definition."""
        return not self._base.is_fixed(definition.key)

    def since_ns(self, definition: Definition) -> int:
        """Return since when a definition is in force."""
        return self._latest[definition.key].effective_from_ns

    def put(
        self, name: str, spec: EvaluatorSpec | RuleSpec, expected: Expected = None
    ) -> tuple[Definition, bool]:
        """Add or change a definition; return it as it is from then on, and whether it is new.

        Raises: ConfigError naming the field that is wrong; Conflict for what the API cannot
        change; PreconditionFailed if it has another version than `expected`; Unavailable.
        """
        key: Key = ("rule" if isinstance(spec, RuleSpec) else "evaluator", name)
        with self._changing(key, expected):
            is_new = key not in self._present.definitions
            self._apply(added(self._base, self._api, key, spec, commands=self._commands))
            return self._present.definitions[key], is_new

    def delete(self, kind: DefinitionKind, name: str, expected: Expected = None) -> None:
        """Take a definition of the API out of force.

        Raises: NotFound; Conflict for what the configuration defines or rules use;
        PreconditionFailed if it has another version than `expected`; Unavailable.
        """
        key: Key = (kind, name)
        with self._changing(key, expected):
            self._apply(removed(self._base, self._api, self.get(kind, name)))

    def trial(self, spec: EvaluatorSpec, name: str = "candidate") -> Seat:
        """Return an evaluator that no rule names; it is found by its identity from then on.

        Raises: ConfigError naming what is wrong with it; Unavailable when it cannot be kept now.
        """
        check_evaluator(name, spec, self._base.schemas, commands=self._commands)
        config = self._base.joined(self._api)
        evaluators = {**config.evaluators, name: spec}
        seat = self._built(config.model_copy(update={"evaluators": evaluators}), [name])[name]
        if self.seat_of(seat.identity) is None:
            event = DefinitionEvent(
                kind="trial",
                name=name,
                source="api",
                fingerprint=seat.fingerprint,
                identity=seat.identity,
                body=json_text(body_of(spec, self._base.schemas)) or "{}",
                seat=None if self._base.holds_secrets(seat) else seat_text(seat),
                effective_from_ns=self._now_ns(),
            )
            append_definitions(self._db, [event]).result()
        return seat

    @contextmanager
    def _changing(self, key: Key, expected: Expected) -> Iterator[None]:
        """Hold the turn to change a definition that has an expected version."""
        if not self._turn.acquire(timeout=WAIT_S):
            raise Unavailable("other definitions are being changed; try again soon")
        try:
            found = self._present.definitions.get(key)
            if not _is_expected(found, expected):
                version = f"version {found.version}" if found else "not there"
                raise PreconditionFailed(f"the {key[0]} {key[1]!r} is {version}; read it again")
            yield
        finally:
            self._turn.release()

    def _apply(self, edit: Edit) -> None:
        """Put an edit in force, on disk first.

        Raises: ConfigError naming what cannot be used with it; Unavailable.
        """
        seats = self._built(self._base.joined(edit.api), edit.to_build)
        api = edit.api.with_seats(seats)
        faults = edit.faults(self._base, api, self._faults)
        present = self._base.present(api, faults)
        now_ns = self._next_ns()
        latest = self._latest
        events = [ended(latest[edit.key], now_ns)] if edit.is_end else []
        latest = {**latest, **{_key(event): event for event in events}}
        self._record([*events, *changes(latest, present.definitions, now_ns)])
        self._api, self._faults, self._present = api, faults, present

    def _next_ns(self) -> int:
        """Return the time, later than that of every event so far."""
        latest_ns = max((e.effective_from_ns for e in self._latest.values()), default=0)
        return max(self._now_ns(), latest_ns + 1)

    def _built(self, config: Config, names: Collection[str]) -> dict[str, Seat]:
        """Return these evaluators of the configuration, their queries checked.

        Raises: ConfigError naming the evaluator, what is wrong with it, and the remedy.
        """
        if not names:
            return {}
        seats = dict(self._builder.build(config, names))
        for seat in seats.values():
            check_query(seat)
        return seats

    def _record(self, events: Iterable[DefinitionEvent]) -> None:
        """Have the events written, then count them as the latest.

        Raises: Unavailable or duckdb.Error when they cannot be written now.
        """
        new = list(events)
        if new:
            append_definitions(self._db, new).result()
        self._latest = {**self._latest, **{_key(event): event for event in new}}

    def _recalled(self, identity: str) -> Seat | None:
        """Return an evaluator that is in force no more; keeps a bounded number of them."""
        text = seat_json(self._db, identity)
        if text is None:
            return None
        if len(self._former) >= MAX_FORMER:
            self._former = {}
        self._former[identity] = seat = seat_from(text)
        return seat


def _key(event: DefinitionEvent) -> Key:
    """Return what an event is about; trials have none."""
    return ("evaluator" if event.kind == "evaluator" else "rule"), event.name


def _is_expected(found: Definition | None, expected: Expected) -> bool:
    if expected is None:
        return True
    if found is None:
        return not expected
    return ANY in expected or found.version in expected
