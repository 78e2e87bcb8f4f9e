"""What carries requests to an OTLP receiver: one host, no redirects, bounded in time and size."""

from __future__ import annotations

import asyncio
import gzip
from typing import TYPE_CHECKING, Protocol

import httpx
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from tracejury_collector.config import OtlpExportSettings
from tracejury_collector.export.answers import (
    Answer,
    Away,
    accepted_response,
    answer_of_grpc,
    answer_of_http,
)

if TYPE_CHECKING:
    import grpc.aio

MAX_ANSWER_BYTES = 64 << 10
LOGS_PATH = "/v1/logs"
_EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
_RETRY_INFO = "google.rpc.retryinfo-bin"


class Transport(Protocol):
    """Carries requests to one receiver."""

    async def send(self, request: ExportLogsServiceRequest) -> Answer:
        """Return what the receiver answers; never raises for what it does."""

    async def close(self) -> None:
        """Give the connection back."""


def open_transport(settings: OtlpExportSettings) -> Transport:
    """Return what speaks the configured protocol to the configured endpoint."""
    if settings.endpoint is None:
        raise ValueError("an export needs an endpoint")
    if settings.protocol == "grpc":
        return GrpcTransport(settings, settings.endpoint)
    return HttpTransport(settings, settings.endpoint)


def logs_url(endpoint: str) -> str:
    """Return where log records are posted to, for a base URL or the whole one."""
    url = httpx.URL(endpoint)
    path = url.path.rstrip("/")
    return str(url.copy_with(path=path if path.endswith(LOGS_PATH) else path + LOGS_PATH))


class HttpTransport:
    """OTLP/HTTP with protobuf, compressed."""

    def __init__(self, settings: OtlpExportSettings, endpoint: str) -> None:
        self._url = logs_url(endpoint)
        self._timeout_s = settings.timeout
        self._client = httpx.AsyncClient(
            headers={
                **settings.headers,
                "content-type": "application/x-protobuf",
                "content-encoding": "gzip",
                "accept-encoding": "identity",
            },
            timeout=settings.timeout,
        )

    async def send(self, request: ExportLogsServiceRequest) -> Answer:
        body = await asyncio.to_thread(lambda: gzip.compress(request.SerializeToString(), 6))
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._post(body)
        except TimeoutError:
            return Away(reason=f"it gave no answer within {self._timeout_s:g} s")
        except httpx.HTTPError as error:
            return Away(reason=f"it gave no answer: {type(error).__name__}: {error}")

    async def _post(self, body: bytes) -> Answer:
        async with self._client.stream("POST", self._url, content=body) as response:
            said = bytearray()
            async for chunk in response.aiter_raw():
                said += chunk
                if len(said) > MAX_ANSWER_BYTES:
                    break
            headers = response.headers
            return answer_of_http(
                response.status_code,
                bytes(said[:MAX_ANSWER_BYTES]),
                headers.get("location", ""),
                headers.get("retry-after", ""),
            )

    async def close(self) -> None:
        await self._client.aclose()


class GrpcTransport:
    """OTLP/gRPC, compressed; over TLS where the endpoint's scheme is https."""

    def __init__(self, settings: OtlpExportSettings, endpoint: str) -> None:
        # Only who speaks gRPC pays for its import.
        import grpc

        self._timeout_s = settings.timeout
        self._metadata = tuple((name.lower(), value) for name, value in settings.headers.items())
        self._compression = grpc.Compression.Gzip
        self._failure = grpc.aio.AioRpcError
        self._channel = _channel(httpx.URL(endpoint))
        self._export = self._channel.unary_unary(
            _EXPORT,
            request_serializer=ExportLogsServiceRequest.SerializeToString,
            response_deserializer=ExportLogsServiceResponse.FromString,
        )

    async def send(self, request: ExportLogsServiceRequest) -> Answer:
        try:
            async with asyncio.timeout(self._timeout_s + 1):
                response = await self._export(
                    request,
                    timeout=self._timeout_s,
                    metadata=self._metadata,
                    compression=self._compression,
                )
        except self._failure as error:
            asked_s = _asked_wait_s(error)
            return answer_of_grpc(error.code().name, error.details() or "", asked_s)
        except TimeoutError:
            return Away(reason=f"it gave no answer within {self._timeout_s:g} s")
        return accepted_response(response)

    async def close(self) -> None:
        await self._channel.close(None)


def _channel(endpoint: httpx.URL) -> grpc.aio.Channel:
    import grpc.aio

    secure = endpoint.scheme == "https"
    port = endpoint.port or (443 if secure else 80)
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    options = [("grpc.max_receive_message_length", MAX_ANSWER_BYTES)]
    if secure:
        credentials = grpc.ssl_channel_credentials()
        return grpc.aio.secure_channel(f"{host}:{port}", credentials, options=options)
    return grpc.aio.insecure_channel(f"{host}:{port}", options=options)


def _asked_wait_s(error: grpc.aio.AioRpcError) -> float | None:
    """Return the delay that the receiver asked for."""
    from google.protobuf.message import DecodeError
    from google.rpc.error_details_pb2 import RetryInfo

    found = dict(error.trailing_metadata() or ()).get(_RETRY_INFO)
    if not isinstance(found, bytes):
        return None
    try:
        delay = RetryInfo.FromString(found).retry_delay
    except DecodeError:
        return None
    seconds: float = delay.seconds + delay.nanos / 1e9
    return seconds
