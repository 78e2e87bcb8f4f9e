"""HTTP to one host: what leaves for elsewhere is refused, retries and answers are bounded."""

from __future__ import annotations

import ssl
import urllib.request
from collections.abc import AsyncIterator
from functools import cache

import httpx2
from pydantic_ai.retries import AsyncHTTPX2TenacityTransport, RetryConfig, wait_retry_after
from tenacity import (
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential_jitter,
)

from tracejury_evaluators.endpoint import Access, origin

MAX_ANSWER_BYTES = 8 << 20
MAX_WAIT_S = 60.0
CREDENTIALS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
ACCOUNT = ("openai-organization", "openai-project", "x-goog-user-project")
RETRYABLE = (408, 409, 429)


class Redirected(httpx2.TransportError):
    """The endpoint wants to be asked elsewhere, where its key does not belong."""


class HostBound(httpx2.AsyncBaseTransport):
    """Sends requests to the endpoint's own host alone, with its own key alone."""

    def __init__(self, access: Access, inner: httpx2.AsyncBaseTransport) -> None:
        self._access = access
        self._origin = origin(access.base_url)
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, its body bounded.

        Raises: httpx2.UnsupportedProtocol for another host, Redirected for a redirect.
        """
        if origin(str(request.url)) != self._origin:
            raise httpx2.UnsupportedProtocol("the request would leave the judge's host")
        self._keep_own_key(request.headers)
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.is_redirect:
            await response.aclose()
            raise Redirected(
                f"the judge's endpoint answered with a redirect (status {response.status_code}), "
                "which is not followed; set base_url to where it leads"
            )
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the answer is compressed, though that was ruled out")
        response.stream = _Bounded(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _keep_own_key(self, headers: httpx2.Headers) -> None:
        """Drop what libraries add from the environment: keys and accounts meant for others."""
        key = self._access.api_key
        for name in CREDENTIALS:
            if not key or key not in headers.get(name, ""):
                headers.pop(name, None)
        if not key:
            for name in ACCOUNT:
                headers.pop(name, None)


class _Bounded(httpx2.AsyncByteStream):
    """A body of at most MAX_ANSWER_BYTES."""

    def __init__(self, inner: object) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise httpx2.DecodingError(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def http_client(
    access: Access, *, retries: int, timeout_s: float, total_s: float
) -> httpx2.AsyncClient:
    """A client that asks again what may succeed later, and follows no redirect.

    Retries are bounded in number and by `total_s`; a Retry-After is heeded up to MAX_WAIT_S.
    """
    direct = httpx2.AsyncHTTPTransport(verify=_trust(), proxy=_proxy(access.base_url))
    config = RetryConfig(
        retry=retry_if_exception(_may_succeed_later),
        wait=wait_retry_after(wait_exponential_jitter(initial=0.5, max=8), max_wait=MAX_WAIT_S),
        stop=stop_after_attempt(retries + 1) | stop_after_delay(total_s),
        reraise=True,
    )
    patient = AsyncHTTPX2TenacityTransport(config, HostBound(access, direct), _raise_retryable)
    return httpx2.AsyncClient(
        transport=_Answering(patient),
        timeout=httpx2.Timeout(timeout_s, connect=min(10.0, timeout_s)),
        follow_redirects=False,
        trust_env=False,
    )


class _Answering(httpx2.AsyncBaseTransport):
    """Gives the last answer as an answer again where retries have come to their end."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._inner.handle_async_request(request)
        except httpx2.HTTPStatusError as error:
            return httpx2.Response(error.response.status_code, request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _raise_retryable(response: httpx2.Response) -> None:
    if response.status_code in RETRYABLE or response.status_code >= 500:
        raise httpx2.HTTPStatusError(
            f"status {response.status_code}", request=response.request, response=response
        )


def _may_succeed_later(error: BaseException) -> bool:
    return isinstance(error, (httpx2.HTTPStatusError, httpx2.NetworkError, httpx2.TimeoutException))


@cache
def _trust() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _proxy(url: str) -> str | None:
    """The proxy of the environment for this URL."""
    scheme, host, _ = origin(url)
    if urllib.request.proxy_bypass(host) or host in ("localhost", "127.0.0.1", "::1"):
        return None
    return urllib.request.getproxies().get(scheme)
