"""What all documents of the REST API share; fields that a newer service adds are kept."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest.words import describe

Item = TypeVar("Item")


class Document(BaseModel):
    """What the service answers; unknown fields are kept."""

    model_config = ConfigDict(extra="allow", json_schema_extra=describe)


class FieldFault(Document):
    """A field of a request, and what is wrong with it."""

    field: str = Field(description="where it stands, with dots between: items.0.value")
    message: str = Field(description="what is wrong with it")


class SqlPosition(Document):
    """Where a text of SQL is wrong."""

    line: int = Field(description="from 1")
    character: int = Field(description="in that line, from 1")
    excerpt: str = Field(description="that line, cut to what is around, and a caret below it")


class Problem(Document):
    """Why a request failed (RFC 9457): a machine code, what was wrong, and the remedy."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str = ""
    remedy: str = ""
    position: SqlPosition | None = Field(
        default=None, description="of a refused query: where it is wrong"
    )
    errors: list[FieldFault] = Field(
        default=[], description="the fields that are wrong, where the request has any"
    )


class Page(Document, Generic[Item]):
    """One page of a list; `next_cursor` is null on the last one."""

    items: list[Item]
    next_cursor: str | None = None
