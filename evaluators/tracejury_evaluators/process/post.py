"""Posting JSON to an endpoint: bounded in time and size, asked again where that may help."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import httpx
import stamina

FIRST_WAIT_S = 0.1
MAX_WAIT_S = 5.0
FIXED_HEADERS = {"content-type": "application/json", "accept-encoding": "identity"}


class AnswerTooLarge(Exception):
    """An endpoint answered more than is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What is sent where; `timeout_s` bounds each wait, the caller bounds the whole."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float
    attempts: int
    max_answer_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an endpoint answered; `location` is where a redirect pointed."""

    status: int
    body: bytes
    location: str
    retry_after: str

    @property
    def may_change(self) -> bool:
        """Whether asking again may give another answer."""
        return self.status == 429 or self.status >= 500


class _AskAgain(Exception):
    def __init__(self, reply: Reply) -> None:
        super().__init__(f"status {reply.status}")
        self.reply = reply


async def send(post: Post) -> Reply:
    """The endpoint's answer, whatever its status; the last one where it was asked again.

    Raises: httpx.HTTPError where there is none, AnswerTooLarge where it is too large.
    """
    attempts = stamina.retry_context(
        on=_backoff(post.timeout_s),
        attempts=post.attempts,
        timeout=None,
        wait_initial=FIRST_WAIT_S,
        wait_jitter=FIRST_WAIT_S,
        wait_max=MAX_WAIT_S,
    )
    try:
        async for attempt in attempts:
            with attempt:
                reply = await _send_once(post)
                if reply.may_change:
                    raise _AskAgain(reply)
    except _AskAgain as last:
        return last.reply
    return reply


def _backoff(longest_s: float) -> Callable[[Exception], bool | float]:
    """When to ask again: at growing intervals, or when the endpoint says, unless that is late."""

    def backoff(error: Exception) -> bool | float:
        if not isinstance(error, _AskAgain):
            return isinstance(error, httpx.TransportError)
        said = error.reply.retry_after
        if not said.isdecimal() or len(said) > 9:
            return True
        return float(said) if float(said) < longest_s else False

    return backoff


async def _send_once(post: Post) -> Reply:
    headers = {**post.headers, **FIXED_HEADERS}
    async with (
        httpx.AsyncClient(verify=_trusted(), timeout=post.timeout_s) as client,
        client.stream("POST", post.url, content=post.body, headers=headers) as response,
    ):
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > post.max_answer_bytes:
                raise AnswerTooLarge
        return Reply(
            status=response.status_code,
            body=bytes(body),
            location=response.headers.get("location", ""),
            retry_after=response.headers.get("retry-after", ""),
        )


@cache
def _trusted() -> ssl.SSLContext:
    return httpx.create_ssl_context()
