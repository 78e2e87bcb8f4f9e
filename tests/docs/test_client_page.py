"""The page about the client: its programs run against a service, every call is on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.api import agent_run, record_result, running_api, served
from tests.helpers.doc_blocks import Block, read_blocks
from tracejury import AsyncClient, Client

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text(encoding="utf-8")
BLOCKS = read_blocks(PAGE)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that gets a trace every moment, for those who follow."""
    with running_api(tmp_path_factory.mktemp("client-page")) as api:
        api.store(*agent_run(1))
        api.finish()
        record_result(api)
        stop = threading.Event()

        def arrive() -> None:
            number = 2
            while not stop.wait(0.2):
                api.store(*agent_run(number))
                number += 1

        arriving = threading.Thread(target=arrive)
        with served(api) as address:
            arriving.start()
            yield address
            stop.set()
            arriving.join()


@pytest.mark.parametrize("block", BLOCKS, ids=[block.place for block in BLOCKS])
def test_a_program_on_the_page_runs(
    block: Block, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEJURY_URL", url)
    assert block.language == "python"
    exec(compile(block.text, block.place, "exec"), {"__name__": "__main__"})  # noqa: S102


def test_every_call_and_argument_is_on_the_page() -> None:
    made = [name for kind in (Client, AsyncClient) for name in dir(kind) if name[0] != "_"]
    plumbing = {"ask", "http"}
    missing = [name for name in {*made} - plumbing if f"`{name}" not in PAGE]
    assert missing == []
    arguments = Client.__init__.__annotations__.keys() - {"return"}
    assert [name for name in arguments if f"| `{name}` |" not in PAGE] == []
