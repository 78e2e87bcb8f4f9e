"""What the decisions in the store say of the samples of live rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from tracejury_collector.rules import Former, Subject, TargetKind
from tracejury_collector.store.columns import INTEGER, TEXT, arrow_table
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import statement

FormerKey = tuple[str, TargetKind, str]
"""Fingerprint of the rule, kind and id of the target."""
ConversationKey = tuple[str, str, str]
"""Fingerprint of the rule, project, session."""

_WINDOW_NS = 600 * 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """Targets that came to a rule's sample in one minute, in one stratum; the selected ones."""

    rule: str
    minute: int
    stratum: str
    sampled: int
    selected: int


def waiting_jobs(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many decisions on live traffic wait for the jury."""
    row = cursor.execute(statement("count_live_jobs")).fetchone()
    return int(row[0]) if row else 0


def paced_decisions(cursor: duckdb.DuckDBPyConnection, since_ns: int) -> list[Paced]:
    """Return what live rules did since then."""
    rows = cursor.execute(statement("paced_decisions"), {"since_ns": since_ns}).fetchall()
    return [
        Paced(rule=rule, minute=minute, stratum=stratum, sampled=sampled, selected=selected)
        for rule, minute, stratum, sampled, selected in rows
    ]


def sampled_conversations(
    cursor: duckdb.DuckDBPyConnection, since_ns: int, most: int
) -> list[tuple[ConversationKey, Former]]:
    """Return the first chance of conversations seen since then, of so many, oldest first."""
    bounds = {"since_ns": since_ns, "most": most}
    rows = cursor.execute(statement("sampled_conversations"), bounds).fetchall()
    return [
        ((row[0], row[1] or "", row[2]), Former(stratum=row[3], probability=row[4]))
        for row in reversed(rows)
    ]


def former_decisions(
    cursor: duckdb.DuckDBPyConnection, subjects: Sequence[Subject]
) -> dict[FormerKey, Former]:
    """Return the chances that live rules gave to the revisions before these.

    Decisions are looked for where the former revisions were finished, never in all history.
    """
    found: dict[FormerKey, Former] = {}
    for group in _neighbors([s for s in subjects if s.former_ns]):
        rows = [(s.target_kind, s.target_id, s.revision - 1) for s in group]
        columns = {"target_kind": TEXT, "target_id": TEXT, "revision": INTEGER}
        bounds = {
            "since_ns": group[0].former_ns,
            "until_ns": group[-1].former_ns + _WINDOW_NS,
        }
        with registered(cursor, former=arrow_table(columns, rows)):
            for fingerprint, kind, target_id, stratum, probability in cursor.execute(
                statement("former_decisions"), bounds
            ).fetchall():
                former = Former(stratum=stratum, probability=probability)
                found[fingerprint, kind, target_id] = former
    return found


def _neighbors(subjects: Sequence[Subject]) -> Iterator[list[Subject]]:
    """Yield the subjects in groups whose former revisions were finished close together."""
    group: list[Subject] = []
    for subject in sorted(subjects, key=lambda s: s.former_ns):
        if group and subject.former_ns > group[-1].former_ns + _WINDOW_NS:
            yield group
            group = []
        group.append(subject)
    if group:
        yield group
