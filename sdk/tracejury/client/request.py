"""Requests to the API as values: what is asked, and how the answer is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import httpx
import orjson
from pydantic import BaseModel

from tracejury.rest import Page

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
Params = Mapping[str, str | int | None]
Repeat = Literal["never", "if_refused", "if_lost"]
"""When a request is made again: never, since its work may have been done; after a 503; or also
when the connection broke before the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[T]):
    """One request; parameters that are None are left out.

    `read` makes the result of an answer that succeeded, and raises ValidationError where it is
    not such an answer.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    params: Params = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    repeat: Repeat = "never"

    def built(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Return the request as `http` sends it."""
        return http.build_request(
            self.method,
            self.path,
            params={key: value for key, value in self.params.items() if value is not None},
            headers=dict(self.headers),
            content=self.content,
        )


def get(path: str, model: type[Model], params: Params | None = None) -> Request[Model]:
    """Return a GET of one document."""
    return Request(
        method="GET", path=path, read=document(model), params=params or {}, repeat="if_lost"
    )


def get_items(path: str, model: type[Model], params: Params | None = None) -> Request[list[Model]]:
    """Return a GET of a list that has one page."""
    read = document(Page[model])  # type: ignore[valid-type]
    return Request(
        method="GET",
        path=path,
        read=lambda response: read(response).items,
        params=params or {},
        repeat="if_lost",
    )


def post(
    path: str,
    model: type[Model],
    body: Mapping[str, Any] | None = None,
    *,
    repeat: Repeat = "never",
) -> Request[Model]:
    """Return a POST of a JSON body."""
    return send("POST", path, document(model), body, repeat=repeat)


def send(
    method: str,
    path: str,
    read: Callable[[httpx.Response], T],
    body: Mapping[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    repeat: Repeat = "never",
) -> Request[T]:
    """Return a request of any method with a JSON body, or without one."""
    given = dict(headers or {})
    if body is not None:
        given["content-type"] = "application/json"
    return Request(
        method=method,
        path=path,
        read=read,
        headers=given,
        content=None if body is None else orjson.dumps(body),
        repeat=repeat,
    )


def document(model: type[Model]) -> Callable[[httpx.Response], Model]:
    """Return what reads an answer as a document."""
    return lambda response: model.model_validate_json(response.content)


def nothing(_response: httpx.Response) -> None:
    """Read an answer that says no more than that it succeeded."""


def segment(text: str) -> str:
    """Return the text as one segment of a path, whatever it holds."""
    quoted = quote(text, safe="", errors="replace")
    return quoted.replace(".", "%2E") if text in (".", "..") else quoted
