"""Pages of what a run judges: traces, or sessions where its rule judges these."""

from __future__ import annotations

import re

import duckdb

from tracejury_collector.config import RuleSpec
from tracejury_collector.deciding import trace_subjects
from tracejury_collector.rules import Subject
from tracejury_collector.runs.plan import Plan
from tracejury_collector.store.session_targets import (
    SessionTargets,
    count_session_targets,
    next_session_targets,
)
from tracejury_collector.store.targets import Targets, count_targets, judged_already, next_targets

Page = Targets | SessionTargets

_MAY_READ_TEXTS = re.compile(r"input|output|traces|columns|[*\"]", re.IGNORECASE)
"""Names of the texts, or of all columns; names in quotes may be spelt in any way."""


def count_pages(cursor: duckdb.DuckDBPyConnection, plan: Plan) -> tuple[int, int]:
    """Return (how many targets a run looks at, where the newest of them begins, else -1)."""
    if plan.target == "session":
        return count_session_targets(cursor, plan.targets)
    return count_targets(cursor, plan.targets)


def next_page(
    cursor: duckdb.DuckDBPyConnection, plan: Plan, before_seq: int, limit: int, *, is_live: bool
) -> Page:
    """Return the next targets, of at most `limit` looked at, that begin before `before_seq`.

    `is_live` says that a rule in force judges sessions.

    Raises: SqlRefused where the plan's condition does not run, runs too long, or is too large.
    """
    if plan.target == "session":
        return next_session_targets(cursor, plan.targets, before_seq, limit, is_live=is_live)
    return next_targets(
        cursor, plan.targets, before_seq, limit, with_texts=_may_read_texts(plan.spec)
    )


def _may_read_texts(spec: RuleSpec) -> bool:
    """Return whether a condition of the rule may look at what a trace read or wrote."""
    strata = (stratum.where for stratum in spec.sample.strata.values())
    conditions = (spec.where, *spec.sample.always, *strata)
    return any(_MAY_READ_TEXTS.search(condition) for condition in conditions)


def judged_on(cursor: duckdb.DuckDBPyConnection, plan: Plan, page: Page) -> dict[str, set[str]]:
    """Return by target id which of the evaluators have judged it already; none is to `rejudge`."""
    if plan.rejudge:
        return {}
    return judged_already(cursor, page.wanted(), plan.identities.values())


def subjects_of(page: Page) -> list[Subject]:
    """Return the targets as what rules decide on."""
    if isinstance(page, SessionTargets):
        return page.subjects
    return [] if page.facts is None else trace_subjects(page.facts)
