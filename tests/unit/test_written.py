"""Documents that leave as bytes are what FastAPI would have sent; they were written elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel, ConfigDict, SerializationInfo, field_serializer

from tracejury.rest import Page
from tracejury_collector.api.written import written

_MADE_IN: list[int] = []
_WRITTEN_IN: list[int] = []


class Item(BaseModel):
    """A document with what JSON has no form for, and what a newer service adds."""

    model_config = ConfigDict(extra="allow")

    name: str
    share: float | None = None

    @field_serializer("name")
    def _noted(self, name: str, _info: SerializationInfo) -> str:
        _WRITTEN_IN.append(threading.get_ident())
        return name


def plain(limit: int = 2) -> Page[Item]:
    """Return items."""
    _MADE_IN.append(threading.get_ident())
    items = [
        Item.model_validate({"name": f"é{n}", "share": n / 3, "x": "\n"}) for n in range(limit)
    ]
    return Page(items=items, next_cursor=None)


def _app(endpoint: Callable[..., object]) -> FastAPI:
    app = FastAPI()
    app.get("/items")(endpoint)
    return app


def test_a_written_document_is_the_one_that_fastapi_would_send() -> None:
    sent, expected = (
        TestClient(_app(endpoint)).get("/items?limit=3") for endpoint in (written(plain), plain)
    )
    assert (sent.status_code, sent.content) == (200, expected.content)
    assert sent.headers == expected.headers


def test_a_written_route_is_described_as_the_plain_one() -> None:
    assert _app(written(plain)).openapi() == _app(plain).openapi()


def test_a_document_is_written_in_the_thread_that_made_it() -> None:
    _MADE_IN.clear()
    _WRITTEN_IN.clear()
    TestClient(_app(written(plain))).get("/items?limit=1")
    assert _MADE_IN == _WRITTEN_IN
    assert _MADE_IN
