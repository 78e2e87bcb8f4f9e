"""Which service is asked, by whom, and how patiently."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypedDict, TypeVar

import httpx
import stamina

from tracejury.client.answers import LostError
from tracejury.client.request import Request
from tracejury.errors import ApiError, DefinitionError, UnreachableError

T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:4319"
TIMEOUT_S = 30.0
RETRY_S = 10.0
_FIRST_WAIT_S = 0.25
_UNAVAILABLE = 503
# A request that is made again is no news for a program that has not asked for logs.
logging.getLogger("stamina").addHandler(logging.NullHandler())


class HttpOptions(TypedDict):
    """What both of httpx's clients are made with."""

    base_url: str
    headers: dict[str, str]
    timeout: float
    trust_env: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service's API; the key that is shown there is in no repr.

    `timeout_s` is the longest wait for a connection, and for each part of an answer; for
    `retry_s` a request is made again that was refused for now, or lost.
    """

    url: str
    api_key: str = field(repr=False)
    timeout_s: float
    retry_s: float

    @property
    def http_options(self) -> HttpOptions:
        """What a client of httpx is made with."""
        return {
            "base_url": self.url,
            "headers": {"authorization": f"Bearer {self.api_key}"} if self.api_key else {},
            "timeout": self.timeout_s,
            "trust_env": False,
        }

    def attempts(self, request: Request[Any]) -> stamina._core._RetryContextIterator:
        """Return the attempts at a request, to be iterated over, or asynchronously."""
        return stamina.retry_context(
            on=_repeatable(request, self.retry_s),
            attempts=None if self.retry_s > 0 else 1,
            timeout=self.retry_s or None,
            wait_initial=_FIRST_WAIT_S,
            wait_jitter=_FIRST_WAIT_S,
        )


def service_at(
    url: str | None, *, api_key: str | None, timeout_s: float, retry_s: float
) -> Service:
    """Return the service; what is None is read from TRACEJURY_URL and TRACEJURY_API_KEY.

    Raises: UnreachableError for what is no URL, DefinitionError for a key no header can hold.
    """
    named = (url or os.environ.get("TRACEJURY_URL") or DEFAULT_URL).rstrip("/")
    try:
        httpx.URL(named)
    except httpx.InvalidURL as error:
        raise UnreachableError(f"{named!r} is not a URL: {error}") from error
    key = (os.environ.get("TRACEJURY_API_KEY", "") if api_key is None else api_key).strip()
    if not (key.isascii() and key.isprintable()):
        raise DefinitionError(
            "the API key holds characters that no header can hold; copy it again as it was created"
        )
    return Service(url=named, api_key=key, timeout_s=timeout_s, retry_s=retry_s)


def _repeatable(request: Request[T], longest_s: float) -> Callable[[Exception], bool | float]:
    """Return what says whether a request is made again after an error, and when."""

    def backoff(error: Exception) -> bool | float:
        if isinstance(error, LostError):
            return request.repeat == "if_lost"
        if not isinstance(error, ApiError) or error.status != _UNAVAILABLE:
            return False
        if request.repeat == "never":
            return False
        later_s = error.retry_after_s
        return later_s is None or (later_s < longest_s and max(later_s, _FIRST_WAIT_S))

    return backoff
