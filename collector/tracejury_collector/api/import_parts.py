"""Imported files, taken apart into OTLP requests; what is none is told by its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from tracejury.otlp_pieces import FRAMES, JSON, JSON_LINES, PROTOBUF, ZSTD, unframed
from tracejury_collector.api.context import Encoding, Signal
from tracejury_collector.errors import MalformedRequest, RequestError, UnsupportedMediaType
from tracejury_collector.receive import wire
from tracejury_collector.receive.decompress import decompress

PROTOBUF_TYPES = (PROTOBUF, "application/protobuf", "application/octet-stream")
JSON_TYPES = (JSON,)
LINES_TYPES = (JSON_LINES, "application/jsonl", "application/x-jsonlines")
FRAMES_TYPES = (FRAMES,)
_SNIFFED_FIELDS = 10_000
_TRACE_ID_BYTES, _SPAN_ID_BYTES = 16, 8
_KEYS: dict[str, Signal] = {
    "resourceSpans": "traces",
    "resource_spans": "traces",
    "resourceLogs": "logs",
    "resource_logs": "logs",
    "resourceMetrics": "metrics",
    "resource_metrics": "metrics",
}
_LISTS: dict[Signal, str] = {
    "traces": "resourceSpans",
    "logs": "resourceLogs",
    "metrics": "resourceMetrics",
}
_KEY = re.compile(rb'^\s*\{\s*"(resource(?:Spans|Logs|Metrics))"\s*:')
_KEY_BYTES = 1000
GROUP_BYTES = 1 << 20


class Part(NamedTuple):
    """One OTLP request in a file, or why what stands there is none."""

    place: str
    """How it is named: "line 3"; "" for a file that is one request."""
    signal: Signal
    encoding: Encoding
    body: bytes
    problem: RequestError | None = None
    resources: Sequence[Any] | None = None
    """What a JSON request lists, if it holds nothing else."""

    def goes_with(self, other: Part) -> bool:
        """Whether both may be one request."""
        if self.problem or other.problem or self[1:3] != other[1:3]:
            return False
        listed = self.resources is not None and other.resources is not None
        return self.encoding == "protobuf" or listed


def grouped(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Yield neighbors that may be one request; it is the many small ones that take time."""
    group: list[Part] = []
    size = 0
    for part in parts:
        size += len(part.body)
        if group and (size > GROUP_BYTES or not group[-1].goes_with(part)):
            yield group
            group, size = [], len(part.body)
        group.append(part)
    if group:
        yield group


def joined(group: Sequence[Part]) -> bytes:
    """Return the body of the one request that the parts of a group are together.

    Protobuf merges messages that follow each other; JSON lists are put together.
    """
    first = group[0]
    if len(group) == 1 or first.encoding == "protobuf":
        return b"".join(part.body for part in group)
    together = [resource for part in group for resource in part.resources or ()]
    return orjson.dumps({_LISTS[first.signal]: together})


def parts_of(
    media_type: str, body: bytes, signal: Signal | None, first: int, limit: int
) -> Iterator[Part]:
    """Yield the requests in a file, or in the piece of one that begins at line `first`.

    `signal` says what protobuf holds; None: that is seen by itself. What is compressed may become
    `limit` bytes.

    Raises: UnsupportedMediaType
    """
    if media_type in FRAMES_TYPES:
        for number, message in enumerate(unframed(body), first):
            yield _framed(f"message {number}", message, signal, limit)
    elif media_type in PROTOBUF_TYPES:
        yield Part("", signal or signal_in(body), "protobuf", body)
    elif media_type in (*JSON_TYPES, *LINES_TYPES):
        yield from _json_parts(body, first)
    else:
        known = ", ".join((PROTOBUF, JSON, JSON_LINES, FRAMES))
        raise UnsupportedMediaType(
            f"the content type {media_type!r} is not spoken here; "
            f"send {known} or multipart/form-data"
        )


def _framed(place: str, message: bytes, signal: Signal | None, limit: int) -> Part:
    try:
        if message.startswith(ZSTD):
            message = decompress(message, "zstd", limit)
    except RequestError as error:
        return Part(place, "traces", "protobuf", b"", error)
    if message.startswith(b"{"):
        return _json_part(place, message)
    return Part(place, signal or signal_in(message), "protobuf", message)


def _json_parts(body: bytes, first: int) -> Iterator[Part]:
    """Yield the requests in one JSON document, or in JSON lines."""
    text = body.removeprefix(b"\xef\xbb\xbf")
    lines = text.split(b"\n")
    filled = sum(bool(line.strip()) for line in lines)
    if not filled and len(lines) > 1:
        return
    if filled < 2 or _is_json(text):
        yield _json_part(f"line {first}" if first > 1 else "", text.strip())
        return
    for number, line in enumerate(lines, first):
        if line.strip():
            yield _json_part(f"line {number}", line)


def _is_json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _json_part(place: str, text: bytes) -> Part:
    """Return a request in JSON; what only the decoder can read, a bare NaN, is left to it."""
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        key = _KEY.search(text, 0, _KEY_BYTES)
        if key:
            return Part(place, _KEYS[key[1].decode()], "json", text)
        problem = MalformedRequest(f"is not JSON: {error}; send one OTLP document a line")
        return Part(place, "traces", "json", text, problem)
    keys = list(document) if isinstance(document, dict) else []
    signal = next((_KEYS[key] for key in keys if key in _KEYS), None)
    if signal is None:
        return Part(place, "traces", "json", text, _no_request())
    listed = document[_LISTS[signal]] if keys == [_LISTS[signal]] else None
    return Part(place, signal, "json", text, None, listed if isinstance(listed, list) else None)


def _no_request() -> MalformedRequest:
    return MalformedRequest(
        "is no OTLP request: it has neither resourceSpans nor resourceLogs; "
        "export it with an OTLP file exporter"
    )


def signal_in(body: bytes) -> Signal:
    """Return what the first item of a protobuf request is; traces where nothing tells.

    A span begins with two ids of fixed lengths, a metric with its name; a log record has no text
    in its first field.
    """
    try:
        item = _first_item(body)
        sizes = {f.number: f.end - f.start for f in wire.fields(body, *item, _budget())}
    except (MalformedRequest, StopIteration):
        return "traces"
    if sizes.get(1) == _TRACE_ID_BYTES and sizes.get(2) == _SPAN_ID_BYTES:
        return "traces"
    return "metrics" if 1 in sizes else "logs"


def _first_item(body: bytes) -> tuple[int, int]:
    """Return start and end of the first span, log record or metric."""
    place = (0, len(body))
    for number in (1, 2, 2):
        fields = wire.fields(body, *place, _budget())
        found = next(field for field in fields if field.number == number)
        place = (found.start, found.end)
    return place


def _budget() -> wire.Budget:
    return wire.Budget(_SNIFFED_FIELDS)
