"""Questions in SQL, imports, dialects, health."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tracejury.rest.base import Document


class Column(Document):
    """A column of a query's answer, with its DuckDB type."""

    name: str
    type: str


class SqlResult(Document):
    """The answer to a query; `truncated` says that more rows match than the limit."""

    columns: list[Column]
    rows: list[list[Any]]
    row_count: int
    truncated: bool = False
    elapsed_ms: float = 0.0


class Imported(Document):
    """What became of an imported file: received = stored + duplicate + rejected."""

    received: int = Field(description="spans and log records found")
    stored: int = Field(description="of these, the ones that are new")
    duplicate: int = Field(default=0, description="of these, the ones that were stored before")
    rejected: int = Field(default=0, description="of these, the ones that cannot be taken")
    unreadable: int = Field(default=0, description="lines and messages that are no OTLP request")
    messages: list[str] = Field(default=[], description="why, the first of each request")
    database: str = Field(default="", description="id of the database that they are stored in")


class DialectSeen(Document):
    """A dialect: what of a trace it gives, and how many of the newest spans follow it."""

    name: str
    label: str
    origin: Literal["built_in", "file"]
    file: str | None = None
    source: str = ""
    scopes: list[str] = []
    prefixes: list[str] = []
    spans: int = 0
    last_seen: str | None = None
    fields: list[str] = Field(default=[], description="the fields that its rules find")
    missing: list[str] = Field(default=[], description="what its library does not record")
    enable: str = Field(default="", description="what to set to record more")


class UnreadAttribute(Document):
    """An attribute or event that looks like GenAI content and that no rule reads.

    Scope, key and example come from who sent them: what could steer a terminal, open a tag or
    begin a formula is escaped, and the example is cut to 200 characters.
    """

    scope: str
    key: str
    kind: Literal["attribute", "event"] = "attribute"
    spans: int
    example: str = ""
    first_seen: str
    last_seen: str


class DialectReport(Document):
    """The dialects in order of recognition, and what none of them reads, most frequent first."""

    dialects: list[DialectSeen]
    spans_without_dialect: int = 0
    unread: list[UnreadAttribute] = []
    unread_count: int = Field(default=0, description="unread attributes in all")


class Health(Document):
    """Whether the service answers, and what it is."""

    status: Literal["ok", "starting"]
    version: str = ""
    uptime_s: float = 0.0
    listen: dict[str, str] = {}
