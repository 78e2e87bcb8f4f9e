"""One request to the service and its answer, or the error that says why there is none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from tracejury.errors import ApiError, UnreachableError
from tracejury.rest import (
    Problem,
)

DEFAULT_URL = "http://127.0.0.1:4319"
Model = TypeVar("Model", bound=BaseModel)
Params = Mapping[str, str | int | None]


class Connection:
    """A service's API by its URL; what every group of calls is built on."""

    def __init__(
        self,
        url: str | None = None,
        *,
        timeout_s: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = (url or os.environ.get("TRACEJURY_URL") or DEFAULT_URL).rstrip("/")
        try:
            self._http = httpx.Client(
                base_url=self.url, timeout=timeout_s, transport=transport, trust_env=False
            )
        except httpx.InvalidURL as error:
            raise UnreachableError(f"{self.url!r} is not a URL: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, model: type[Model], params: Params | None = None) -> Model:
        """Return the answer to a GET; parameters that are None are left out."""
        given = {k: v for k, v in (params or {}).items() if v is not None}
        return self.parse(self.send("GET", path, params=given), model)

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Return the answer to a request that succeeded."""
        with self._reaching():
            response = self._http.request(method, path, **options)
        if response.is_success:
            return response
        raise _error(response)

    def lines(self, path: str, quiet_s: float) -> Iterator[str]:
        """Yield the lines of an answer that goes on; `quiet_s` is the longest wait for one."""
        timeout = httpx.Timeout(self._http.timeout.connect, read=quiet_s)
        with self._reaching(), self._http.stream("GET", path, timeout=timeout) as response:
            if not response.is_success:
                response.read()
                raise _error(response)
            yield from response.iter_lines()

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (httpx.TransportError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(
                f"no Tracejury service answers at {self.url} ({reason}); "
                "start one with 'tracejury serve', or name another with --url or TRACEJURY_URL"
            ) from error

    def parse(self, response: httpx.Response, model: type[Model]) -> Model:
        """Return the document in an answer."""
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            raise UnreachableError(
                f"what answers at {self.url} is not a Tracejury service of this version: "
                f"{error.errors()[0]['msg']} in its {model.__name__}; check the address"
            ) from error


def segment(text: str) -> str:
    """Return the text as one segment of a path, whatever it holds."""
    quoted = quote(text, safe="", errors="replace")
    return quoted.replace(".", "%2E") if text in (".", "..") else quoted


def _error(response: httpx.Response) -> ApiError:
    """Return the error in a refusal, made up from its status where it is not a problem."""
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        return ApiError(
            status=response.status_code,
            code="unknown",
            detail=f"the service answered {response.status_code}: {response.text[:200]!r}",
            remedy="check that the address is that of a Tracejury service",
        )
    return ApiError(
        status=response.status_code,
        code=problem.code,
        detail=problem.detail or problem.title,
        remedy=problem.remedy,
    )
