"""The MCP server on stdin and stdout, as an assistant starts it."""

from __future__ import annotations

from tracejury.client import Client
from tracejury.mcp.server import mcp_server


def serve_stdio(url: str | None) -> None:
    """Serve one assistant until it closes stdin; stdout belongs to the protocol."""
    mcp_server(lambda: Client(url)).run("stdio", show_banner=False, log_level="ERROR")
