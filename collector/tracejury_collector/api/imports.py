"""Importing OTLP files: protobuf, one JSON document, or JSON lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from tracejury.rest import Imported
from tracejury_collector.api.access import CallerIs
from tracejury_collector.api.context import ApiContext, Encoding, Signal
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.errors import MalformedRequest, Unavailable, UnsupportedMediaType

router = APIRouter(tags=["traces"])

PROTOBUF = ("application/x-protobuf", "application/protobuf", "application/octet-stream")
JSON = ("application/json",)
JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
MESSAGES_KEPT = 20
_KEYS: dict[str, Signal] = {
    "resourceSpans": "traces",
    "resource_spans": "traces",
    "resourceLogs": "logs",
    "resource_logs": "logs",
    "resourceMetrics": "metrics",
    "resource_metrics": "metrics",
}
_BODY = {
    "required": True,
    "content": {
        media_type: {"schema": {"type": "string", "format": "binary"}}
        for media_type in (*PROTOBUF, *JSON, *JSON_LINES)
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
        Literal["traces", "logs"], Query(description="what a protobuf body holds")
    ] = "traces",
) -> Imported:
    """Store the spans and log records of OTLP files; answers once they are on disk.

    The body is one file, or `multipart/form-data` with several. JSON says by itself what it holds.
    """
    parts = [part async for part in _files(request)]
    if not parts:
        raise MalformedRequest("the form holds no file; send files under the name 'file'")
    requests = [one for media_type, body in parts for one in _requests(media_type, body, signal)]
    return await run_in_threadpool(_ingest, context, requests, caller.project)


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
        return JSON_LINES[0]
    return declared


def _requests(
    media_type: str, body: bytes, signal: Signal
) -> Iterator[tuple[Signal, Encoding, bytes]]:
    """Yield the OTLP requests in a file.

    Raises: MalformedRequest, UnsupportedMediaType.
    """
    if media_type in PROTOBUF:
        yield signal, "protobuf", body
    elif media_type in (*JSON, *JSON_LINES):
        yield from _json_requests(body)
    else:
        raise UnsupportedMediaType(
            f"the content type {media_type!r} is not spoken here; "
            f"send {PROTOBUF[0]}, {JSON[0]}, {JSON_LINES[0]} or multipart/form-data"
        )


def _json_requests(body: bytes) -> Iterator[tuple[Signal, Encoding, bytes]]:
    """Yield the requests in one JSON document, or in JSON lines."""
    text = body.removeprefix(b"\xef\xbb\xbf").strip()
    try:
        yield _signal(orjson.loads(text), "the document"), "json", text
        return
    except orjson.JSONDecodeError as error:
        lines = [line for line in text.split(b"\n") if line.strip()]
        if len(lines) < 2:
            raise MalformedRequest(f"not JSON: {error}; send one OTLP document") from error
    for number, line in enumerate(lines, 1):
        try:
            document = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise MalformedRequest(
                f"line {number} is not JSON: {error}; nothing was imported, correct the line"
            ) from error
        yield _signal(document, f"line {number}"), "json", line


def _signal(document: object, place: str) -> Signal:
    keys = list(document) if isinstance(document, dict) else []
    for key in keys:
        if key in _KEYS:
            return _KEYS[key]
    raise MalformedRequest(
        f"{place} is no OTLP request: it has neither resourceSpans nor resourceLogs; "
        "export it with an OTLP file exporter"
    )


def _ingest(
    context: ApiContext, requests: list[tuple[Signal, Encoding, bytes]], project: str | None
) -> Imported:
    """Hand all requests to the store before waiting, so that they share commits."""
    futures = [context.ingest(*one, project) for one in requests]
    try:
        done = [future.result(timeout=context.config.limits.commit) for future in futures]
    except FutureTimeoutError as error:
        raise Unavailable("the store did not commit in time; send the file again") from error
    return Imported(
        received=sum(d.received for d in done),
        stored=sum(d.stored for d in done),
        duplicate=sum(d.duplicate for d in done),
        rejected=sum(d.rejected for d in done),
        messages=[d.message for d in done if d.message][:MESSAGES_KEPT],
    )
