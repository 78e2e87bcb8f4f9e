"""Labels: what people and programs say about traces and sessions."""

from __future__ import annotations

import time
import uuid
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field

from tracejury.labels import Label, meaning
from tracejury.rest import Label as LabelItem
from tracejury.rest import LabelInput, LabelsInput, LabelsStored, Page
from tracejury.result import Verdict
from tracejury_collector.api.access import CallerIs, own_project
from tracejury_collector.api.cursors import decode_cursor, encode_cursor
from tracejury_collector.api.dependencies import Context, ListQuery, problems
from tracejury_collector.api.details import label
from tracejury_collector.api.paths import anything
from tracejury_collector.api.times import parse_time
from tracejury_collector.api.written import written
from tracejury_collector.errors import InvalidRequest, MalformedRequest, NotFound
from tracejury_collector.redaction import Found, Redactor
from tracejury_collector.store import labels as store
from tracejury_collector.store.owning import own_labels
from tracejury_evaluators.patterns import TooMany

router = APIRouter(tags=["labels"])

DEFAULT_PROJECT = "default"
_TEXTS = ("name", "value", "comment", "author", "session_id", "project")


class LabelQuery(ListQuery):
    """Which labels to list."""

    trace_id: str | None = Field(default=None, description="on this trace or a span of it")
    span_id: str | None = Field(default=None, description="on this span")
    session_id: str | None = Field(default=None, description="on this session itself")
    project: str | None = Field(
        default=None, description="that say this project, or are on a trace of it"
    )
    name: str | None = Field(default=None, description="of this name")
    verdict: Verdict | None = Field(default=None, description="that say this verdict")
    author: str | None = Field(default=None, description="by this author")
    source: Literal["api", "span_event", "span", "log"] | None = Field(
        default=None, description="that came this way"
    )
    since: str | None = Field(
        default=None, description="said then or later: RFC 3339, or 90m, 6h, 2d ago"
    )


@router.post("/api/labels", responses=problems(400, 413, 422))
def add_labels(context: Context, given: LabelsInput) -> LabelsStored:
    """Store labels and answer when they are on disk.

    A label with the id of one that is stored takes its place; without an id it gets one.
    """
    now_ns, redacted = time.time_ns(), Found()
    items = [_redacted(context.redactor, item, redacted) for item in given.items]
    labels = [_label(item, now_ns) for item in items]
    found = store.add_labels(context.db, labels, now_ns, redacted)
    return LabelsStored(
        items=[label(store.as_row(found.labels[item.label_id], now_ns)) for item in labels],
        added=found.added,
        replaced=found.replaced,
        unchanged=found.unchanged,
        unknown=store.unknown_targets(context.db, labels),
    )


def _redacted(redactor: Redactor, given: LabelInput, found: Found) -> LabelInput:
    """Return the label without what must not be stored.

    Raises: InvalidRequest where its id holds something of that, or it cannot be looked through.
    """
    if not redactor.is_active:
        return given
    here = Found()
    try:
        redactor.text(given.label_id or "", here)
        if here:
            raise InvalidRequest(
                f"label_id holds what is redacted here ({', '.join(here)}); choose another id"
            )
        texts = {name: value for name in _TEXTS if isinstance(value := getattr(given, name), str)}
        return given.model_copy(update=redactor.attributes(texts, found))
    except TooMany:
        raise InvalidRequest("a label holds too much to be looked through; shorten it") from None


def _label(given: LabelInput, now_ns: int) -> Label:
    said = meaning(given.value, verdict=given.verdict)
    return Label(
        label_id=given.label_id or uuid.uuid4().hex,
        name=given.name,
        source="api",
        trace_id=given.trace_id or "",
        span_id=given.span_id or "",
        session_id=given.session_id or "",
        project=given.project or (DEFAULT_PROJECT if given.session_id else ""),
        value=said.value,
        score=said.score,
        verdict=said.verdict,
        label=said.label,
        comment=given.comment,
        author=given.author,
        created_at_ns=_said_ns(given.created_at, now_ns) if given.created_at else 0,
    )


def _said_ns(text: str, now_ns: int) -> int:
    said_ns = parse_time(text, "created_at", now_ns)
    if said_ns <= 0:
        raise MalformedRequest(f"created_at: {text[:100]!r} is before 1970; give a later time")
    return said_ns


@router.get("/api/labels", responses=problems(400, 422))
@written
def list_labels(
    context: Context, caller: CallerIs, query: Annotated[LabelQuery, Query()]
) -> Page[LabelItem]:
    """List labels, newest first."""
    project = own_project(caller, query.project)
    rows = store.list_labels(context.db, _filter(query, project, time.time_ns()))
    last = rows[query.limit - 1] if len(rows) > query.limit else None
    cursor = encode_cursor(last["created_at_ns"], last["label_id"]) if last else None
    shown = own_labels(context.db, caller.project, rows[: query.limit])
    return Page(items=[label(row) for row in shown], next_cursor=cursor)


def _filter(query: LabelQuery, project: str | None, now_ns: int) -> store.LabelFilter:
    """Return the filter for one row more than the page holds."""
    before: tuple[Any, ...] = (None, None)
    if query.cursor:
        before = decode_cursor(query.cursor, (int, str))
    chosen = query.model_dump(
        exclude={"limit", "cursor", "since", "trace_id", "span_id", "project"}
    )
    return store.LabelFilter(
        **chosen,
        project=project,
        trace_id=query.trace_id.lower() if query.trace_id else None,
        span_id=query.span_id.lower() if query.span_id else None,
        since_ns=parse_time(query.since, "since", now_ns) if query.since else None,
        before_ns=before[0],
        before_id=before[1],
        limit=query.limit + 1,
    )


@router.delete(f"/api/labels/{anything('label_id')}", status_code=204, responses=problems(404))
def delete_label(
    context: Context, label_id: Annotated[str, Path(description="the label's id")]
) -> None:
    """Delete a label for good: a span that is sent again does not bring it again."""
    if not store.delete_label(context.db, label_id, time.time_ns()):
        raise NotFound(f"no label has the id {label_id[:100]!r}; GET /api/labels lists them")
