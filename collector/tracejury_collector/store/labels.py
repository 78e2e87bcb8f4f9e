"""The table of labels: what is said is kept once, and what was taken back stays away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from tracejury.labels import Label
from tracejury_collector.store.columns import (
    BIGINT,
    DOUBLE,
    TEXT,
    arrow_table,
    text_or_null,
)
from tracejury_collector.store.database import NOTHING, REDACTED, Database
from tracejury_collector.store.registered import registered
from tracejury_collector.store.statements import Row, fetch_rows, narrowed, statement

LABELS_SHOWN = 1000
"""Labels of one trace or session that are shown with it."""

_MAX_TIME_NS = (1 << 63) - 2  # one below what DuckDB reads as infinity
_LABELS = {
    **dict.fromkeys([item.name for item in fields(Label)], TEXT),
    "value": DOUBLE,
    "score": DOUBLE,
    "created_at_ns": BIGINT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFilter:
    """Which labels a page holds; None does not filter. `before_*` name the last one seen."""

    trace_id: str | None = None
    span_id: str | None = None
    session_id: str | None = None
    project: str | None = None
    name: str | None = None
    verdict: str | None = None
    author: str | None = None
    source: str | None = None
    since_ns: int | None = None
    before_ns: int | None = None
    before_id: str | None = None
    limit: int = 50


@dataclass(slots=True)
class Changes:
    """What labels that arrive change: those to store, and how many of them are what."""

    stored: dict[str, Label] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    added: int = 0
    replaced: int = 0
    unchanged: int = 0


def changes(
    arriving: Iterable[Label],
    known: Mapping[str, Label],
    deleted: Mapping[str, int],
    now_ns: int,
) -> Changes:
    """Return what the labels change, given those of their ids that are stored or were deleted.

    Over the API the last word counts. In telemetry, which comes in any order and more than once,
    what was said last counts, and what was deleted later does not come again.
    """
    found = Changes()
    for label in arriving:
        old = found.labels.get(label.label_id) or known.get(label.label_id)
        said_ns = old.created_at_ns if old else deleted.get(label.label_id, -1)
        if _is_known(label, old) or _is_overtaken(label, said_ns):
            kept = old
        else:
            kept = replace(label, created_at_ns=label.created_at_ns or now_ns)
            found.stored[label.label_id] = kept
        _count(found, old, kept)
        if kept is not None:
            found.labels[label.label_id] = kept
    return found


def _is_known(label: Label, old: Label | None) -> bool:
    """Whether this is what is stored; a label without a time is, whenever that was said."""
    if old is None:
        return False
    return replace(label, created_at_ns=label.created_at_ns or old.created_at_ns) == old


def _is_overtaken(label: Label, said_ns: int) -> bool:
    """Whether another word on it, or its deletion, came later than a label of telemetry."""
    return label.source != "api" and label.created_at_ns <= said_ns


def _count(found: Changes, old: Label | None, kept: Label | None) -> None:
    if kept is old:
        found.unchanged += 1
    elif old is None:
        found.added += 1
    else:
        found.replaced += 1


def read_labels(column: Iterable[str | None]) -> list[Label]:
    """Return the labels in rows of spans or log records, as the receiver wrote them."""
    found = [fields for text in column if text for fields in orjson.loads(text)]
    return [
        Label(**{**fields, "created_at_ns": min(fields["created_at_ns"], _MAX_TIME_NS)})
        for fields in found
    ]


def write_labels(
    connection: duckdb.DuckDBPyConnection, labels: Sequence[Label], now_ns: int
) -> Changes:
    """Write the labels in the present transaction; return what that changed."""
    ids = _json(label.label_id for label in labels)
    rows = connection.execute(statement("labels_by_id"), [ids]).fetchall()
    known = {row[0]: Label(**dict(zip(_LABELS, row, strict=True))) for row in rows}
    gone = connection.execute(statement("deleted_labels"), [ids]).fetchall()
    found = changes(labels, known, dict(gone), now_ns)
    if found.stored:
        stored = [_json(found.stored)]
        if known:
            connection.execute(statement("delete_labels"), stored)
        if gone:
            connection.execute(statement("forget_deleted_labels"), stored)
        with registered(connection, new_labels=_table(found.stored.values())):
            connection.execute(statement("insert_labels"), [now_ns])
    return found


def add_labels(
    db: Database, labels: Sequence[Label], now_ns: int, redacted: Mapping[str, int] = NOTHING
) -> Changes:
    """Store labels given over the API; return once they are on disk.

    What was taken out of them is counted by name.

    Raises: Unavailable
    """

    def write(connection: duckdb.DuckDBPyConnection) -> Changes:
        found = write_labels(connection, labels, now_ns)
        db.tally("labels", **counted(found))
        db.tally(REDACTED, **redacted)
        return found

    return db.write(write).result()


def delete_label(db: Database, label_id: str, now_ns: int) -> bool:
    """Delete a label for good; return whether there was one.

    Raises: Unavailable
    """

    def write(connection: duckdb.DuckDBPyConnection) -> bool:
        gone = connection.execute(statement("delete_labels"), [_json([label_id])]).fetchall()
        if not gone:
            return False
        # a sender whose clock is ahead must not bring it back
        noted = {"label_id": label_id, "deleted_ns": max(now_ns, gone[0][1])}
        connection.execute(statement("note_deleted_label"), noted)
        return True

    return db.write(write).result()


def list_labels(db: Database, wanted: LabelFilter) -> list[Row]:
    """Return labels, newest first."""
    with db.read() as cursor:
        return _list(cursor, wanted)


def labels_of_trace(cursor: duckdb.DuckDBPyConnection, trace_id: str) -> list[Row]:
    """Return what was said of a trace and its spans, newest first."""
    if not cursor.execute(statement("has_labels"), {"trace_id": trace_id}).fetchall():
        return []
    return _list(cursor, LabelFilter(trace_id=trace_id, limit=LABELS_SHOWN))


def labels_of_session(
    cursor: duckdb.DuckDBPyConnection, session_id: str, project: str
) -> list[Row]:
    """Return what was said of a session as a whole, newest first."""
    wanted = LabelFilter(session_id=session_id, project=project, limit=LABELS_SHOWN)
    return _list(cursor, wanted)


def _list(cursor: duckdb.DuckDBPyConnection, wanted: LabelFilter) -> list[Row]:
    sql, params = narrowed("list_labels", asdict(wanted))
    if wanted.project is not None:
        condition = statement("labels_of_project")
        sql = sql.replace("(true)", f"({condition})")
        params["project"] = wanted.project
    return fetch_rows(cursor.execute(sql, params))


def as_row(label: Label, received_ns: int) -> Row:
    """Return a label that was just stored as `list_labels` does."""
    kind = "session" if not label.trace_id else "span" if label.span_id else "trace"
    row = {key: _cell(value) for key, value in asdict(label).items()}
    return {**row, "target_kind": kind, "received_at_ns": received_ns}


def unknown_targets(db: Database, labels: Iterable[Label]) -> list[str]:
    """Return the ids of traces and sessions of labels that nothing has arrived of yet."""
    ids = {label.trace_id or label.session_id: bool(label.trace_id) for label in labels}
    lists = {
        "traces": _json(name for name, is_trace in ids.items() if is_trace),
        "sessions": _json(name for name, is_trace in ids.items() if not is_trace),
    }
    known = {row["trace_id"] for row in db.rows("known_targets", lists)}
    return [name for name in ids if name not in known]


def counted(found: Changes) -> dict[str, int]:
    """Return how many labels arrived, and what became of them, for the counters."""
    stored = found.added + found.replaced
    return {"received": stored + found.unchanged, "stored": stored, "duplicate": found.unchanged}


def _json(texts: Iterable[str]) -> str:
    return orjson.dumps([*texts]).decode()


def _table(labels: Iterable[Label]) -> pa.Table:
    rows = [tuple(_cell(value) for value in astuple(label)) for label in labels]
    return arrow_table(_LABELS, rows)


def _cell(value: Any) -> Any:
    return text_or_null(value) if isinstance(value, str) else value
