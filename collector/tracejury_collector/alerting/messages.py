"""What a webhook is told: text and blocks as Slack reads them, and the same as data. Pure.

Source: Slack, "Sending messages using incoming webhooks"; "Block Kit reference".
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracejury.bounds import clip
from tracejury_collector.alerts import AlertState, Event

HEADER_CHARACTERS = 150
SECTION_CHARACTERS = 3000
ROWS_SHOWN = 10
VALUE_CHARACTERS = 200
SUMMARY_CHARACTERS = 500
_TITLES: Mapping[Event, str] = {
    "firing": "Alert: {}",
    "reminder": "Still firing: {}",
    "resolved": "Resolved: {}",
    "test": "Test of the alert {}",
}
_NO_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b"})
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of an alert; `rows` are what its condition found, as JSON can hold them."""

    delivery_id: str
    event: Event
    state: AlertState
    description: str
    rows: Sequence[Row] = ()
    created_at_ns: int


def body_of(message: Message) -> dict[str, Any]:
    """Return the JSON that is posted.

    What traces contain stands in it as plain text: it can neither mark anything up nor call anyone.
    """
    state = message.state
    title = _TITLES[message.event].format(_line(state.alert))
    shown = rows_shown(message.rows)
    parts = [state.summary, _listed(shown), message.description]
    texts = [clip(part, SECTION_CHARACTERS) for part in parts if part]
    return {
        "text": clip(f"{title}: {state.summary}", SECTION_CHARACTERS).translate(_NO_MARKUP),
        "blocks": [_header(title), *(_section(text) for text in texts), _footer(message)],
        "tracejury": {
            "id": message.delivery_id,
            "alert": state.alert,
            "event": message.event,
            "status": state.status,
            "since": time_text(state.since_ns),
            "created_at": time_text(message.created_at_ns),
            "summary": state.summary,
            "rows": shown,
        },
    }


def summary_of_rows(rows: Sequence[Row], *, more: bool) -> str:
    """Return what rows say, in a line."""
    if not rows:
        return "no row"
    count = f"more than {len(rows)} rows" if more else _plural(len(rows), "row")
    first = ", ".join(f"{name} {_shown(value)}" for name, value in rows[0].items())
    return clip(f"{count}: {_line(first)}", SUMMARY_CHARACTERS)


def rows_shown(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the first rows with their values cut."""
    return [
        {clip(name, VALUE_CHARACTERS): _cut(value) for name, value in row.items()}
        for row in rows[:ROWS_SHOWN]
    ]


def time_text(time_ns: int) -> str:
    """Return a moment as RFC 3339 text in UTC, to the second."""
    moment = dt.datetime.fromtimestamp(time_ns // 1_000_000_000, dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _listed(rows: Sequence[Row]) -> str:
    """Return rows as lines; one alone stands in the summary."""
    if len(rows) < 2:
        return ""
    return "\n".join(
        _line(", ".join(f"{name} {_shown(value)}" for name, value in row.items())) for row in rows
    )


def _line(text: str) -> str:
    """Return the text on one line, without controls and marks of direction."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _cut(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return clip(value if isinstance(value, str) else str(value), VALUE_CHARACTERS)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(_cut(value))


def _header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": _plain(clip(text, HEADER_CHARACTERS))}


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _plain(text)}


def _footer(message: Message) -> dict[str, Any]:
    text = f"since {time_text(message.state.since_ns)} · Tracejury"
    return {"type": "context", "elements": [_plain(text)]}


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
