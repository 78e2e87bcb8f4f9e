"""Times that requests name: RFC 3339, or how long ago."""

from __future__ import annotations

import datetime as dt
import re

from tracejury_collector.errors import MalformedRequest

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_RELATIVE = re.compile(r"([0-9]{1,9})([smhdw])")
_FRACTION = re.compile(r"\.([0-9]{1,9})")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NS_MAX = (1 << 63) - 1


def parse_time(text: str, field: str, now_ns: int) -> int:
    """Return the moment that `text` names, in nanoseconds since the epoch.

    "90m" is that long before `now_ns`; a time without an offset is UTC.

    Raises: MalformedRequest naming the field.
    """
    if relative := _RELATIVE.fullmatch(text.strip()):
        return now_ns - int(relative[1]) * _UNITS_S[relative[2]] * 1_000_000_000
    try:
        return _parse_rfc3339(text.strip())
    except (ValueError, OverflowError) as error:
        raise MalformedRequest(
            f"{field}: {text[:100]!r} is not a time; write it like 90m, 2d or 2026-01-31T12:00:00Z"
        ) from error


def parse_duration(text: str, field: str) -> int:
    """Return the length of time that `text`, like 15m or 1h, names, in nanoseconds.

    Raises: MalformedRequest naming the field.
    """
    duration = _RELATIVE.fullmatch(text.strip())
    if duration is None or int(duration[1]) == 0:
        raise MalformedRequest(
            f"{field}: {text[:100]!r} is not a length of time; write it like 15m, 1h or 1d"
        )
    return min(int(duration[1]) * _UNITS_S[duration[2]] * 1_000_000_000, _NS_MAX)


def _parse_rfc3339(text: str) -> int:
    fraction = _FRACTION.search(text)
    whole = text[: fraction.start()] + text[fraction.end() :] if fraction else text
    # A "+" of an offset arrives as a space from clients that do not escape it.
    moment = dt.datetime.fromisoformat(re.sub(r" (\d\d:\d\d)$", r"+\1", whole))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    since = moment - _EPOCH
    nanos = int(fraction[1].ljust(9, "0")) if fraction else 0
    ns = (since.days * 86_400 + since.seconds) * 1_000_000_000 + nanos
    if abs(ns) > _NS_MAX:
        raise OverflowError(text)
    return ns
