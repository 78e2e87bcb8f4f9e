"""Importing OTLP files: protobuf, one JSON document, JSON lines, length-prefixed messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from tracejury.rest import Imported
from tracejury_collector.api.access import CallerIs
from tracejury_collector.api.context import ApiContext, Ingested
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.api.import_parts import (
    FRAMES_TYPES,
    JSON_TYPES,
    LINES_TYPES,
    PROTOBUF_TYPES,
    Part,
    grouped,
    joined,
    parts_of,
)
from tracejury_collector.errors import MalformedRequest, RequestError, Unavailable

router = APIRouter(tags=["traces"])

MESSAGES_KEPT = 20
_Problem = tuple[str, RequestError]
"""Where in a file something cannot be read, and why."""
_BODY = {
    "required": True,
    "content": {
        media_type: {"schema": {"type": "string", "format": "binary"}}
        for media_type in (*PROTOBUF_TYPES, *JSON_TYPES, *LINES_TYPES, *FRAMES_TYPES)
    }
    | {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "array", "items": {"type": "string", "format": "binary"}}
                },
            }
        }
    },
}


@router.post(
    "/api/traces/import",
    responses=problems(400, 413, 415, 422),
    openapi_extra={"requestBody": _BODY},
)
async def import_traces(
    request: Request,
    context: Context,
    caller: CallerIs,
    signal: Annotated[
        Literal["traces", "logs"] | None,
        Query(description="what protobuf holds; left out, that is seen by itself"),
    ] = None,
    first: Annotated[
        int,
        Query(ge=1, le=1 << 53, description="number of the body's first line in its file"),
    ] = 1,
) -> Imported:
    """Store the spans and log records of OTLP files; answers once they are on disk.

    The body is one file, or `multipart/form-data` with several. JSON says by itself what it holds.
    A line or message that cannot be read costs itself; where none can be, the request fails.
    """
    files = [part async for part in _files(request)]
    if not files:
        raise MalformedRequest("the form holds no file; send files under the name 'file'")
    limit = context.config.limits.decompressed_bytes
    parts = (
        part
        for media_type, body in files
        for part in parts_of(media_type, body, signal, first, limit)
    )
    return await run_in_threadpool(_ingest, context, parts, caller.project)


async def _files(request: Request) -> AsyncIterator[tuple[str, bytes]]:
    """Yield (media type, content) of each file in the request."""
    media_type = _media_type(request.headers.get("content-type", ""))
    if media_type != "multipart/form-data":
        yield media_type, await request.body()
        return
    async with request.form() as form:
        for _, value in form.multi_items():
            if isinstance(value, UploadFile):
                declared = _media_type(value.content_type or "")
                yield _from_name(value.filename or "", declared), await value.read()


def _media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def _from_name(name: str, declared: str) -> str:
    """Return the media type of an uploaded file; clients often declare only octet-stream."""
    if name.endswith((".json", ".jsonl", ".ndjson")):
        return LINES_TYPES[0]
    return declared


def _ingest(context: ApiContext, parts: Iterable[Part], project: str | None) -> Imported:
    """Hand all requests to the store before waiting, so that they share commits.

    Raises: RequestError, that of the first part, where none can be read.
    """
    futures: list[Future[Ingested]] = []
    problems: list[_Problem] = []
    for group in grouped(parts):
        _hand_over(partial(_ingested, context, project), group, futures, problems)
    if problems and not futures:
        place, first = problems[0]
        raise type(first)(f"{place or 'the body'}: {first}") from first
    return _imported(context, _awaited(context, futures), problems)


def _ingested(context: ApiContext, project: str | None, group: Sequence[Part]) -> Future[Ingested]:
    """Return what will become of parts that are one request; spans are of the key's project."""
    first = group[0]
    return context.ingest(first.signal, first.encoding, joined(group), project)


def _hand_over(
    take: Callable[[Sequence[Part]], Future[Ingested]],
    group: Sequence[Part],
    futures: list[Future[Ingested]],
    problems: list[_Problem],
) -> None:
    """Hand the parts over as one request; one by one where that cannot be read."""
    first = group[0]
    try:
        if first.problem:
            raise first.problem
        futures.append(take(group))
    except RequestError as error:
        if len(group) == 1:
            problems.append((first.place, error))
            return
        for part in group:
            _hand_over(take, [part], futures, problems)


def _awaited(context: ApiContext, futures: list[Future[Ingested]]) -> list[Ingested]:
    try:
        return [future.result(timeout=context.config.limits.commit) for future in futures]
    except FutureTimeoutError as error:
        raise Unavailable("the store did not commit in time; send the file again") from error


def _imported(context: ApiContext, done: list[Ingested], problems: list[_Problem]) -> Imported:
    unreadable = [f"{place}: {error}" for place, error in problems]
    rejected = [one.message for one in done if one.message]
    made_us = context.db.rows("database_id")[0]["made_us"]
    return Imported(
        received=sum(one.received for one in done),
        stored=sum(one.stored for one in done),
        duplicate=sum(one.duplicate for one in done),
        rejected=sum(one.rejected for one in done),
        unreadable=len(problems),
        messages=[*unreadable, *rejected][:MESSAGES_KEPT],
        database=f"{made_us:x}",
    )
