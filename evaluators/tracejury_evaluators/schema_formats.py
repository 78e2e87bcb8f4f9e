"""The formats that a JSON Schema can assert, the same on every machine.

`jsonschema` knows more of them the more packages happen to be installed.
"""

from __future__ import annotations

import re
from datetime import datetime

from jsonschema import FormatChecker

from tracejury_evaluators.schema_patterns import PatternProblem, compiled

FROM_LIBRARY = ("date", "email", "idn-email", "ipv4", "ipv6", "uuid")
TIME = re.compile(
    r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII
)

FORMATS = FormatChecker(FROM_LIBRARY)


@FORMATS.checks("regex")
def is_regex(instance: object) -> bool:
    """Say whether RE2 takes the pattern; what is no text is not judged."""
    if not isinstance(instance, str):
        return True
    try:
        compiled(instance)
    except PatternProblem:
        return False
    return True


@FORMATS.checks("time")
def is_time(instance: object) -> bool:
    """Say whether it is a time of day with its offset. Source: RFC 3339, 5.6 "full-time"."""
    return not isinstance(instance, str) or TIME.fullmatch(instance) is not None


@FORMATS.checks("date-time")
def is_date_time(instance: object) -> bool:
    """Say whether it is a date and time. Source: RFC 3339, 5.6 "date-time"."""
    if not isinstance(instance, str):
        return True
    return instance[10:11] in ("T", "t") and _is_date(instance[:10]) and is_time(instance[11:])


def _is_date(text: str) -> bool:
    try:
        return text.isascii() and bool(datetime.strptime(text, "%Y-%m-%d")) and len(text) == 10
    except ValueError:
        return False
