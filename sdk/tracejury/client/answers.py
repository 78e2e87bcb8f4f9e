"""What came of a request: an answer that is read, or the error that says why there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TypeVar

import httpx
from pydantic import ValidationError

from tracejury.client.request import Request
from tracejury.errors import ApiError, UnreachableError
from tracejury.rest import Problem

T = TypeVar("T")
_MOST_DIGITS = 9


class LostError(UnreachableError):
    """The connection broke after the request was sent: its work may have been done."""


@contextlib.contextmanager
def reaching(url: str) -> Iterator[None]:
    """Turn the errors of a connection to the service at `url` into ours.

    Raises: LostError where it broke, UnreachableError where there is none.
    """
    try:
        yield
    except (httpx.ReadError, httpx.RemoteProtocolError) as error:
        raise LostError(_silence(url, error)) from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise UnreachableError(_silence(url, error)) from error


def result(request: Request[T], response: httpx.Response, url: str) -> T:
    """Return the result in an answer of the service at `url`; its body has been read.

    Raises: ApiError for a refusal, UnreachableError for what is no answer of the service.
    """
    if not response.is_success:
        raise refusal(response)
    try:
        return request.read(response)
    except ValidationError as error:
        raise UnreachableError(
            f"what answers at {url} is not a Tracejury service of this version: "
            f"{error.errors()[0]['msg']} in its {error.title}; check the address"
        ) from error


def refusal(response: httpx.Response) -> ApiError:
    """Return the error in a refusal, made up from its status where it is not a problem."""
    retry_after_s = _seconds(response.headers.get("retry-after", ""))
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        return ApiError(
            status=response.status_code,
            code="unknown",
            detail=f"the service answered {response.status_code}: {response.text[:200]!r}",
            remedy="check that the address is that of a Tracejury service",
            retry_after_s=retry_after_s,
        )
    return error_of(problem, retry_after_s)


def error_of(problem: Problem, retry_after_s: float | None = None) -> ApiError:
    """Return the error that a problem says."""
    return ApiError(
        status=problem.status,
        code=problem.code,
        detail=problem.detail or problem.title,
        remedy=problem.remedy,
        retry_after_s=retry_after_s,
        excerpt=problem.position.excerpt if problem.position else "",
    )


def _silence(url: str, error: Exception) -> str:
    return (
        f"no Tracejury service answers at {url} ({str(error) or type(error).__name__}); "
        "start one with 'tracejury serve', or name another with --url or TRACEJURY_URL"
    )


def _seconds(said: str) -> float | None:
    is_number = said.isascii() and said.isdecimal() and len(said) <= _MOST_DIGITS
    return float(said) if is_number else None
