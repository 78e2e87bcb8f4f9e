"""The Model Context Protocol at /mcp: the tools of `tracejury.mcp` over this API, in process.

Every question of a tool is a request to the API with the key of the one who asks, so that a tool
may do what its caller may do and nothing else. Nothing is kept between requests: a client goes on
after a restart of the service. The protocol's library is loaded when it is first spoken.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
from anyio import from_thread, to_thread
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tracejury.client import Client
from tracejury_collector.api.problems import problem

if TYPE_CHECKING:
    from fastmcp.server.http import StarletteWithLifespan

PATH = "/mcp"
_BEARER = "bearer "


class McpDoor:
    """Answers MCP's requests; the server behind it is made for the first one."""

    def __init__(self, api: ASGIApp) -> None:
        self._api = api
        self._opening = asyncio.Lock()
        self._server: StarletteWithLifespan | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await _only_post(scope["method"])(scope, receive, send)
            return
        async with self._opening:
            server = self._server or await self._open()
        await server(scope, receive, send)

    async def _open(self) -> StarletteWithLifespan:
        """Return the server, running until this event loop ends."""
        server = await to_thread.run_sync(_server_over, self._api)
        started = asyncio.Event()
        self._running = asyncio.create_task(_run(server, started), name="mcp")
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait((self._running, waiting), return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            waiting.cancel()
            self._running.result()
        self._server = server
        return server


class _InProcess(httpx.BaseTransport):
    """Brings the requests of a worker thread to an application of its event loop."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = httpx.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer with its whole body."""
        request.headers["accept-encoding"] = "identity"
        return from_thread.run(self._answer, request)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._app.handle_async_request(request)
        body = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=body)


def mcp_route(api: ASGIApp) -> Route:
    """Return the route of the protocol over `api`."""
    return Route(PATH, endpoint=McpDoor(api), include_in_schema=False)


async def _run(server: StarletteWithLifespan, started: asyncio.Event) -> None:
    async with server.lifespan(server):
        started.set()
        await asyncio.Event().wait()


def _server_over(api: ASGIApp) -> StarletteWithLifespan:
    from fastmcp.server.dependencies import get_http_headers

    from tracejury.mcp.server import mcp_server

    def connect() -> Client:
        headers = get_http_headers(include={"authorization", "x-api-key"})
        return Client("http://127.0.0.1", api_key=_key(headers), transport=_InProcess(api))

    server = mcp_server(connect)
    return server.http_app(path=PATH, json_response=True, stateless_http=True)


def _key(headers: dict[str, str]) -> str:
    """Return the key in the headers of a request, "" where there is none."""
    said = headers.get("authorization", "")
    if said.lower().startswith(_BEARER):
        return said[len(_BEARER) :]
    return headers.get("x-api-key", "")


def _only_post(method: str) -> ASGIApp:
    return problem(
        405,
        "method_not_allowed",
        "Method not allowed",
        f"{method} is not served here: no stream is kept open, and no session",
        "use POST, as clients of MCP's streamable HTTP do",
        {"allow": "POST"},
    )
