"""What the table of definitions must be told when something else is in force."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace

from pydantic import TypeAdapter

from tracejury_collector.definitions.present import Definition, Key
from tracejury_collector.jury.roster import Seat
from tracejury_collector.store.columns import json_text
from tracejury_collector.store.definitions import DefinitionEvent

Latest = dict[Key, DefinitionEvent]
"""The last event of each definition."""

_SEAT = TypeAdapter(Seat)


def changes(
    latest: Latest, wanted: Mapping[Key, Definition], now_ns: int
) -> Iterator[DefinitionEvent]:
    """Yield the events that lead from what was last recorded to what is wanted."""
    for key, event in latest.items():
        if key not in wanted and event.state != "ended":
            yield ended(event, now_ns)
    for key, definition in wanted.items():
        event = event_of(definition, now_ns)
        before = latest.get(key)
        if before is None or not _is_same(before, event):
            yield event


def event_of(definition: Definition, now_ns: int) -> DefinitionEvent:
    """Return the event with which a definition comes into force, or is suspended."""
    keep = definition.seat is not None and not definition.holds_secrets
    return DefinitionEvent(
        kind=definition.kind,
        name=definition.name,
        source=definition.source,
        state="suspended" if definition.fault and definition.seat is None else "in_force",
        fingerprint=definition.fingerprint,
        identity=definition.identity,
        body=json_text(definition.body) or "{}",
        seat=seat_text(definition.seat) if keep else None,
        note=definition.fault[:1000],
        effective_from_ns=now_ns,
    )


def ended(event: DefinitionEvent, now_ns: int) -> DefinitionEvent:
    """Return the event with which what `event` began comes to its end."""
    return replace(event, state="ended", seat=None, note="", effective_from_ns=now_ns)


def seat_text(seat: Seat | None) -> str | None:
    """Return a seat as JSON; None for none."""
    return json_text(asdict(seat)) if seat else None


def seat_from(text: str) -> Seat:
    """Return the seat that was written as JSON, by whatever release.

    Raises: ValueError or TypeError if it is none.
    """
    known = {field.name for field in fields(Seat)}
    given = {name: value for name, value in json.loads(text).items() if name in known}
    return _SEAT.validate_python(given)


def _is_same(before: DefinitionEvent, event: DefinitionEvent) -> bool:
    return replace(before, note="", seat=None, effective_from_ns=0) == replace(
        event, note="", seat=None, effective_from_ns=0
    )
