"""What is of one project and of no other: all that a key of the project may see.

A trace is, where all that has arrived of it is there and of the project: whoever knows its id can
send spans of another project into it. A session is, where all of its traces are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import orjson

from tracejury_collector.session_ids import session_target
from tracejury_collector.store.database import Database
from tracejury_collector.store.events import News
from tracejury_collector.store.loading import SeqRange, neighbors
from tracejury_collector.store.statements import Row


def own_traces(db: Database, project: str, trace_ids: Iterable[str]) -> set[str]:
    """Return those of the traces that are of the project alone."""
    wanted = {"trace_ids": _json({*trace_ids})}
    return own_ranges(
        db, project, [SeqRange(**row) for row in db.rows("extents_of_traces", wanted)]
    )


def own_ranges(db: Database, project: str, traces: Iterable[SeqRange]) -> set[str]:
    """Return the same, where it is known where all arrivals of the traces lie."""
    found: set[str] = set()
    for group in neighbors(traces):
        asked = {
            "project": project,
            "trace_ids": _json(trace.trace_id for trace in group),
            "low": group[0].first_seq,
            "high": max(trace.last_seq for trace in group),
        }
        found.update(row["trace_id"] for row in db.rows("own_traces", asked))
    return found


def own_rows(db: Database, project: str | None, traces: Sequence[Row]) -> list[Row]:
    """Return those rows of `show_traces` whose traces are of the project alone; None: all."""
    if project is None:
        return [*traces]
    places = [
        SeqRange(trace_id=row["trace_id"], first_seq=row["first_seq"], last_seq=row["last_seq"])
        for row in traces
    ]
    own = own_ranges(db, project, places)
    return [row for row in traces if row["trace_id"] in own]


def own_sessions(db: Database, project: str, session_ids: Iterable[str]) -> set[str]:
    """Return those of the project's sessions whose finished traces are of the project alone."""
    wanted = {"project": project, "sessions": _json({*session_ids})}
    return _whole(db, project, db.rows("members_of_sessions", wanted))


def own_results(db: Database, project: str | None, results: Sequence[Row]) -> list[Row]:
    """Return the results on traces and sessions of the project alone; None: all."""
    if project is None:
        return [*results]
    traces = own_traces(db, project, (row["trace_id"] for row in results if row["trace_id"]))
    sessions = _own_judged(db, project, [row for row in results if not row["trace_id"]])
    return [row for row in results if row["trace_id"] in traces or _revision(row) in sessions]


def own_labels(db: Database, project: str | None, labels: Sequence[Row]) -> list[Row]:
    """Return the labels on traces of the project alone, and on its sessions; None: all."""
    if project is None:
        return [*labels]
    traces = own_traces(db, project, (row["trace_id"] for row in labels if row["trace_id"]))
    return [
        row
        for row in labels
        if (row["trace_id"] in traces if row["trace_id"] else row["project"] == project)
    ]


def own_news(
    db: Database,
    project: str | None,
    own: Callable[[Database, str | None, Sequence[Row]], list[Row]],
    news: News,
) -> News:
    """Return what is new without rows that `own` leaves out."""
    kept = {id(row) for row in own(db, project, [row for _, row in news.rows])}
    return replace(news, rows=[(at, row) for at, row in news.rows if id(row) in kept])


def _own_judged(db: Database, project: str, results: Iterable[Row]) -> set[str]:
    """Return the revisions of the project's sessions whose traces were of the project alone."""
    prefix = session_target(project, "")
    asked = {
        (row["target_id"], row["revision"])
        for row in results
        if row["target_kind"] == "session" and row["target_id"].startswith(prefix)
    }
    return _whole(db, project, db.rows("members_judged", {"revisions": _json(asked)}))


def _whole(db: Database, project: str, members: Iterable[Row]) -> set[str]:
    """Return the targets all of whose traces are of the project alone."""
    targets: dict[str, set[str]] = defaultdict(set)
    for row in members:
        targets[row["target"]].add(row["trace_id"])
    own = own_traces(db, project, set().union(*targets.values()))
    return {target for target, traces in targets.items() if traces <= own}


def _revision(row: Row) -> str:
    return f"{row['target_id']}#{row['revision']}"


def _json(values: Iterable[object]) -> str:
    return orjson.dumps([*values]).decode()
