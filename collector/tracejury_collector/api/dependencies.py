"""What routes share: the context, and the parameters of lists."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from tracejury.rest import Problem
from tracejury_collector.api.context import ApiContext

MAX_PAGE = 1000
MEANINGS: Final = {
    400: "the request cannot be parsed",
    401: "no key, or none that counts, where keys are needed",
    403: "what it asks for is not for its key; or its host or origin is refused",
    404: "unknown id",
    409: "it does not fit to what is there now",
    412: "it has another version than the request expects",
    413: "the body is over the limit",
    415: "the media type is not spoken here",
    422: "a parameter or field is not valid; the detail names it",
    503: "try again soon",
}


async def _context(request: Request) -> ApiContext:
    context: ApiContext = request.app.state.context
    return context


Context = Annotated[ApiContext, Depends(_context)]
"""Given in the event loop: FastAPI has a thread make what no coroutine function gives."""


class ListQuery(BaseModel):
    """Parameters of every list; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=50, ge=1, le=MAX_PAGE, description="most items on the page")
    cursor: str | None = Field(
        default=None, max_length=1000, description="`next_cursor` of the page before"
    )


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of the refusals that a route can answer with."""
    return {
        status: {"description": MEANINGS[status], "model": Problem}
        for status in sorted({400, 401, 403, 503, *statuses})
    }
