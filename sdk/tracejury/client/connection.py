"""The two ways to a service: one waits for each answer, the other's answers are awaited."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TypeVar

import httpx

from tracejury.client.answers import reaching, result
from tracejury.client.request import Request
from tracejury.client.service import RETRY_S, TIMEOUT_S, service_at

T = TypeVar("T")


class Connection:
    """What the calls of `Client` go through."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        retry_s: float = RETRY_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._service = service_at(url, api_key=api_key, timeout_s=timeout_s, retry_s=retry_s)
        self.http = httpx.Client(transport=transport, **self._service.http_options)

    @property
    def url(self) -> str:
        """Where the service's API is."""
        return self._service.url

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
        self.http.close()

    def ask(self, request: Request[T]) -> T:
        """Return the result of a request, made again where that is safe and may help."""
        for attempt in self._service.attempts(request):
            with attempt:
                return self._once(request)
        raise AssertionError("the last attempt ends with its error")

    def _once(self, request: Request[T]) -> T:
        with reaching(self.url):
            response = self.http.send(request.built(self.http))
        return result(request, response, self.url)


class AsyncConnection:
    """What the calls of `AsyncClient` go through."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        retry_s: float = RETRY_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._service = service_at(url, api_key=api_key, timeout_s=timeout_s, retry_s=retry_s)
        self.http = httpx.AsyncClient(transport=transport, **self._service.http_options)

    @property
    def url(self) -> str:
        """Where the service's API is."""
        return self._service.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()

    async def ask(self, request: Request[T]) -> T:
        """Return the result of a request, made again where that is safe and may help."""
        async for attempt in self._service.attempts(request):
            with attempt:
                return await self._once(request)
        raise AssertionError("the last attempt ends with its error")

    async def _once(self, request: Request[T]) -> T:
        with reaching(self.url):
            response = await self.http.send(request.built(self.http))
        return result(request, response, self.url)
