"""The page about assistants names every tool."""

from __future__ import annotations

import asyncio
import re

from tests.helpers.docs import DOCS
from tracejury.client import Client
from tracejury.mcp.server import mcp_server
from tracejury.mcp.shaping import ANSWER_CHARS

PAGE = (DOCS / "mcp.md").read_text("utf-8")


def test_the_table_holds_the_tools_that_there_are() -> None:
    tools = asyncio.run(mcp_server(Client).list_tools())
    assert {tool.name for tool in tools} == set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert f"{ANSWER_CHARS:,} characters" in PAGE
