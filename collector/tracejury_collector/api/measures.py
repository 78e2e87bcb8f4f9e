"""What /metrics tells of the service, read at each scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric

from tracejury.dialects.unread import OTHER
from tracejury.rest import DefinitionKind
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.key_measures import key_metrics
from tracejury_collector.api.outward_measures import outward_metrics
from tracejury_collector.api.storage import DELETED, rejected_records
from tracejury_collector.api.storage_measures import storage_metrics
from tracejury_collector.metrics import counter, gauge, gauges
from tracejury_collector.store.database import REDACTED, REJECTED
from tracejury_collector.store.reads import count_open_traces
from tracejury_collector.store.runs import jobs_of_runs, running_runs
from tracejury_collector.store.unread import Unread, list_unread

UNREAD_SERIES: Final = 100


def service_metrics(context: ApiContext) -> Iterator[Metric]:
    """Yield the service's metrics as they are now."""
    counts = context.db.counters()
    records: dict[tuple[str, ...], int] = {
        (s, name): n
        for (name, s), n in counts.items()
        if s not in (REDACTED, DELETED) and not s.startswith(REJECTED)
    }
    yield counter(
        "tracejury_records",
        "Spans and log records by what became of them: "
        "received = stored + duplicate + rejected + shed. Outlives restarts.",
        ["signal", "result"],
        records,
    )
    yield counter(
        "tracejury_rejected",
        "Spans and log records that were rejected, by why. Outlives restarts.",
        ["signal", "reason"],
        {(row.signal, row.reason): row.count for row in rejected_records(context)},
    )
    yield counter(
        "tracejury_redactions",
        "Values taken out before anything was stored, by the pattern that found them; those of "
        "resent records again. Outlives restarts.",
        ["pattern"],
        {(name,): n for (name, s), n in counts.items() if s == REDACTED},
    )
    yield counter(
        "tracejury_traces_finished",
        "Revisions finished since the store started, by what finished them.",
        ["completed_by"],
        {(name,): n for name, n in dict(context.worker.finished).items()},
    )
    yield counter(
        "tracejury_sessions_finished",
        "Revisions of sessions finished since the store started.",
        [],
        {(): context.worker.sessions.finished},
    )
    yield counter(
        "tracejury_assembler_lost",
        "Assemblers that died at their work, or were killed because they hung, "
        "since the store started.",
        [],
        {(): context.worker.assembling.lost},
    )
    decider = context.worker.decider
    yield counter(
        "tracejury_decisions",
        "Decisions of the live rules in force since the store started, by rule and outcome.",
        ["rule", "outcome"],
        dict(decider.outcomes),
    )
    yield gauges(
        "tracejury_rule_cap_factor",
        "By what the rates of a rule with a cap were multiplied at its last decision.",
        ["rule"],
        {(rule,): factor for rule, factor in decider.factors.items()},
    )
    yield gauge(
        "tracejury_open_traces", "Traces that are not finished.", count_open_traces(context.db)
    )
    yield counter(
        "tracejury_unread_attributes",
        "Spans with an attribute or event that looks like GenAI content and that no rule reads. "
        "Outlives restarts.",
        ["scope", "key"],
        _unread(list_unread(context.db)),
    )
    yield from _definition_metrics(context)
    yield from _budget_metrics(context)
    yield from _run_metrics(context)
    yield from _jury_metrics(context)
    yield from outward_metrics(context)
    yield from key_metrics(context)
    yield from storage_metrics(context)
    yield from _judge_metrics(context)


def _unread(rows: list[Unread]) -> dict[tuple[str, ...], int]:
    """Return spans by scope and key: of those seen first, the rest together.

    Which ones are told must not change with their counts, or each scrape made new series.
    """
    rows = sorted(rows, key=lambda row: (row.first_seen_ns, row.scope, row.key))
    found: Counter[tuple[str, ...]] = Counter()
    for n, row in enumerate(rows):
        found[(row.scope, row.key) if n < UNREAD_SERIES else (OTHER, OTHER)] += row.spans
    return dict(found)


def _definition_metrics(context: ApiContext) -> Iterator[Metric]:
    kinds: tuple[DefinitionKind, ...] = ("rule", "evaluator")
    found = [each for kind in kinds for each in context.definitions.of_kind(kind)]
    faulty = Counter[tuple[str, ...]]((each.kind,) for each in found if each.fault)
    yield gauges(
        "tracejury_definitions",
        "Rules and evaluators by who defined them.",
        ["kind", "source"],
        dict(Counter[tuple[str, ...]]((each.kind, each.source) for each in found)),
    )
    yield gauges(
        "tracejury_definitions_faults",
        "Of those, the ones that cannot be used, or cannot be built any more.",
        ["kind"],
        {(kind,): faulty[(kind,)] for kind in kinds},
    )


def _budget_metrics(context: ApiContext) -> Iterator[Metric]:
    states = context.budgets.states()
    for unit in ("usd", "tokens"):
        limited: dict[tuple[str, ...], float] = {}
        spent: dict[tuple[str, ...], float] = {}
        for state in states:
            limit = getattr(state.limit, f"{unit}_per_day")
            if limit is not None:
                limited[state.rule,] = limit
                spent[state.rule,] = getattr(state.spent, unit)
        yield gauges(
            f"tracejury_budget_{unit}_spent",
            "Spent on judges today (UTC), by rule; an empty rule is all of them together.",
            ["rule"],
            spent,
        )
        yield gauges(
            f"tracejury_budget_{unit}_limit", "What may be spent a day.", ["rule"], limited
        )


def _run_metrics(context: ApiContext) -> Iterator[Metric]:
    yield gauge("tracejury_runs", "Runs over history that go on.", len(running_runs(context.db)))
    yield gauge(
        "tracejury_run_jobs",
        "Jobs of runs that wait for the jury or are in work.",
        sum(jobs_of_runs(context.db).values()),
    )


def _jury_metrics(context: ApiContext) -> Iterator[Metric]:
    stats = context.jury.stats
    yield counter(
        "tracejury_jury_outcomes",
        "Outcomes of evaluators since the store started: score, skip, failure.",
        ["outcome"],
        {(name,): n for name, n in stats.outcomes.items()},
    )
    yield counter(
        "tracejury_jury_killed",
        "Jury processes killed because an evaluator ran too long, since the store started.",
        [],
        {(): stats.killed},
    )
    yield gauges(
        "tracejury_jury_queue",
        "Jobs that wait for the jury, among those taken from the database, by lane: quick for "
        "evaluators that compute, waiting for those that ask others, query for SQL.",
        ["lane"],
        {(lane,): count for lane, count in stats.lanes.items()},
    )
    yield gauge("tracejury_jury_in_flight", "Jobs that jury processes work on.", stats.in_flight)
    yield gauges(
        "tracejury_jury_running",
        "Of those, by lane; queries run in the store.",
        ["lane"],
        {(lane,): count for lane, count in stats.running.items()},
    )
    yield counter(
        "tracejury_jury_seconds",
        "How long evaluators took since the store started, by lane.",
        ["lane"],
        {(lane,): seconds for lane, seconds in stats.seconds.items()},
    )
    yield gauge("tracejury_jury_workers", "Jury processes connected.", stats.workers)


def _judge_metrics(context: ApiContext) -> Iterator[Metric]:
    places = context.jury.gate.places()
    yield gauges(
        "tracejury_judge_circuit",
        "Whether an endpoint that evaluators ask is left alone because it keeps failing: 1 if so, "
        "0.5 while one judgement tries it, else 0.",
        ["judge"],
        {(place.asked.place,): _CIRCUIT[state] for place, state in places},
    )
    yield counter(
        "tracejury_judge_circuit_opened",
        "How often an endpoint was found to keep failing, since the store started.",
        ["judge"],
        {(place.asked.place,): place.breaker.opened for place, _ in places},
    )
    yield counter(
        "tracejury_judge_failures",
        "Judgements that an endpoint failed, each try counted, since the store started.",
        ["judge", "error"],
        {
            (place.asked.place, error): count
            for place, _ in places
            for error, count in place.errors.items()
        },
    )
    yield counter(
        "tracejury_judge_repeats",
        "Judgements that were tried again because of their endpoint, since the store started.",
        ["evaluator"],
        {(name,): count for name, count in dict(context.jury.gate.repeats).items()},
    )


_CIRCUIT: Final = {"closed": 0.0, "half_open": 0.5, "open": 1.0}
