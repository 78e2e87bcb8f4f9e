"""Answers that are written in the thread that made them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from fastapi import Response
from pydantic import BaseModel

JSON = "application/json"
P = ParamSpec("P")


def written(endpoint: Callable[P, BaseModel]) -> Callable[P, Response]:
    """Return the function of a route with its document as the bytes that are sent.

    FastAPI would have another thread check the document, which is whole as it was made, and write
    it in the event loop, where everybody waits.
    """

    @wraps(endpoint)
    def write(*args: P.args, **kwargs: P.kwargs) -> Response:
        document = endpoint(*args, **kwargs)
        return Response(document.model_dump_json(by_alias=True), media_type=JSON)

    return write
