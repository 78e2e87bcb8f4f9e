"""Where a config may post to: an http(s) URL without a password, and headers that can be sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import httpx

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
OWN_HEADERS = ("host", "content-length", "content-type", "transfer-encoding", "accept-encoding")


def check_url(url: str, like: str) -> None:
    """Check that `url` can be posted to; `like` says how one is written.

    Raises: ValueError with the fault and the remedy, and without the URL: it may be a secret.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ValueError(f"this is no URL: {error}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(like)
    if parsed.userinfo:
        raise ValueError("a URL that holds a password ends up in logs; use headers instead")


def check_headers(headers: Iterable[tuple[str, str]]) -> None:
    """Check names and values of headers.

    Raises: ValueError naming the header, never its value.
    """
    for name, value in headers:
        if not HEADER_NAME.fullmatch(name) or name.lower() in OWN_HEADERS:
            raise ValueError(f"{name!r} is no header that can be set")
        if not HEADER_VALUE.fullmatch(value):
            raise ValueError(f"the value of {name!r} is empty or holds what no header can")


def check_header_types(headers: object, texts: tuple[type, ...]) -> None:
    """Check that this is a mapping of names to values of the types `texts`.

    Raises: ValueError that shows no value: the usual message would, and it may be a secret.
    """
    if not isinstance(headers, Mapping) or not all(isinstance(name, str) for name in headers):
        raise ValueError("headers are a mapping of names to values: {authorization: ${TOKEN}}")
    for name, value in headers.items():
        if not isinstance(value, texts):
            raise ValueError(f"the value of {name!r} is no text; put it in quotation marks")
