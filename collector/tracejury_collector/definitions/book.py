"""The book of definitions: what is in force now, and what was when a job was selected."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from pydantic import ValidationError

from tracejury_collector.config import Config, EvaluatorSpec
from tracejury_collector.definitions.bodies import body_of, secrets_in
from tracejury_collector.definitions.events import Latest, changes, seat_from, seat_text
from tracejury_collector.definitions.present import ApiSpecs, Base, Key, Present
from tracejury_collector.errors import ConfigError
from tracejury_collector.in_force import InForce
from tracejury_collector.jury.building import SeatBuilder
from tracejury_collector.jury.lane import check_query
from tracejury_collector.jury.roster import Seat
from tracejury_collector.store.columns import json_text
from tracejury_collector.store.database import Database
from tracejury_collector.store.definitions import (
    DefinitionEvent,
    append_definitions,
    latest_definitions,
    seat_json,
)

log = logging.getLogger(__name__)

MAX_FORMER = 1_000

Faults = dict[Key, str]


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
        self._former: dict[str, Seat] = {}
        self._base = Base(config=config, roster=roster, schemas=builder.config_schema)
        for seat in roster.values():
            check_query(seat)
        events = latest_definitions(db)
        self._latest: Latest = {(e.kind, e.name): e for e in events if e.kind != "trial"}
        self._api, self._present = self._restored(events)
        self._record(changes(self._latest, self._present.definitions, now_ns()))

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

    def trial(self, spec: EvaluatorSpec, name: str = "candidate") -> Seat:
        """Return an evaluator that no rule names; it is found by its identity from then on.

        Raises: ConfigError naming what is wrong with it; Unavailable when it cannot be kept now.
        """
        self._refuse_secrets(name, spec)
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

    def _restored(self, events: Iterable[DefinitionEvent]) -> tuple[ApiSpecs, Present]:
        """Return what the API had defined, and what is in force with it.

        What cannot be used any more must not keep the service from starting: it stays, shown with
        its fault. Raises: ConfigError for what the configuration defines itself.
        """
        self._base.present(ApiSpecs())
        recorded = [e for e in events if e.source == "api" and e.state != "ended"]
        seats, faults = self._rebuilt(api := self._read(recorded), recorded)
        api = api.with_seats(seats)
        faults |= dict.fromkeys((("rule", name) for name in api.rules), "")
        for name in api.rules:
            faults = self._admitted(api, faults, ("rule", name))
        for (kind, name), fault in faults.items():
            log.warning("%s %r, defined over the API, cannot be used: %s", kind, name, fault)
        return api, self._base.present(api, faults)

    def _read(self, recorded: Iterable[DefinitionEvent]) -> ApiSpecs:
        """Return what these events define, without what the configuration defines by now."""
        api = ApiSpecs()
        for event in recorded:
            key: Key = (event.kind, event.name) if event.kind != "trial" else ("rule", "")
            if self._base.is_fixed(key):
                log.warning("%s %r of the API gives way to the configuration's", *key)
                continue
            try:
                api = api.with_spec(key, json.loads(event.body))
            except ValidationError as error:
                log.warning("%s %r, defined over the API, cannot be read: %s", *key, error)
                self._latest.pop(key, None)
        return api

    def _rebuilt(
        self, api: ApiSpecs, recorded: Iterable[DefinitionEvent]
    ) -> tuple[dict[str, Seat], Faults]:
        """Return the evaluators as they are built now, else as they were before, with the fault."""
        config = self._base.joined(api)
        with contextlib.suppress(ConfigError):
            return self._built(config, api.evaluators), {}
        seats: dict[str, Seat] = {}
        faults: Faults = {}
        before = {e.name: e.seat for e in recorded if e.kind == "evaluator" and e.seat}
        for name in api.evaluators:
            try:
                seats |= self._built(config, [name])
            except ConfigError as error:
                faults["evaluator", name] = str(error)
                seats[name] = seat_from(before[name])
        return seats, faults

    def _admitted(self, api: ApiSpecs, faults: Faults, key: Key) -> Faults:
        """Return the faults without this rule's, if it can be put in force; else with its own."""
        others = {k: fault for k, fault in faults.items() if k != key}
        try:
            self._base.present(api, others)
        except ConfigError as error:
            return faults | {key: str(error)}
        return others

    def _refuse_secrets(self, name: str, spec: EvaluatorSpec) -> None:
        found = next(secrets_in(spec.type, spec.config, self._base.schemas), None)
        if found is not None:
            raise ConfigError(
                f"evaluators.{name}: {found}: secrets are kept in no database; "
                "define this evaluator in the configuration file, the secret as ${VARIABLE}"
            )

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
        self._latest |= {(e.kind, e.name): e for e in new if e.kind != "trial"}

    def _recalled(self, identity: str) -> Seat | None:
        """Return an evaluator that is in force no more; keeps a bounded number of them."""
        text = seat_json(self._db, identity)
        if text is None:
            return None
        if len(self._former) >= MAX_FORMER:
            self._former.clear()
        self._former[identity] = seat = seat_from(text)
        return seat
