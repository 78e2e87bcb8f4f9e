"""Deciding: every rule in force on every finished revision of a batch, once each."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tracejury_collector.in_force import InForce
from tracejury_collector.rules import Decision, Subject, choose

_FACTS = (
    *("trace_id", "revision", "kind", "project", "session_id"),
    *("upstream_probability", "first_seq", "last_seq"),
)


def trace_subjects(traces: pa.Table, max_revisions: int | None = None) -> list[Subject]:
    """Return the revisions of traces in rows of `base.traces` as what rules decide on."""
    columns = (traces.column(name).to_pylist() for name in _FACTS)
    return [
        Subject(
            target_id=trace_id,
            revision=revision,
            kind=kind,
            project=project,
            session_id=session_id or "",
            upstream_probability=upstream,
            first_seq=first_seq,
            last_seq=last_seq,
            max_revisions=max_revisions,
        )
        for trace_id, revision, kind, project, session_id, upstream, first_seq, last_seq in zip(
            *columns, strict=True
        )
    ]


class Decider:
    """Decides live."""

    def decide(
        self,
        in_force: InForce,
        subjects: Sequence[Subject],
        facts: pa.Table,
        now_ns: int,  # noqa: ARG002 what depends on time comes with the rules that need it
    ) -> list[Decision]:
        """Return one decision per rule and subject, of which all are of one target kind.

        `facts` are their rows of `base.traces`, or of `sessions` with their `target_id`.
        """
        target = subjects[0].target_kind if subjects else "trace"
        rules = in_force.rules_on(target)
        if not subjects or not rules:
            return []
        conditions = in_force.conditions.evaluate(facts, target)
        return [
            choose(rule, conditions[rule.name][subject.target_id], subject)
            for subject in subjects
            for rule in rules
        ]
