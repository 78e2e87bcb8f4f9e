"""Fixtures of the API's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.api import Api, agent_run, running_api, served


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    """The API over an empty database."""
    with running_api(tmp_path) as running:
        yield running


@pytest.fixture
def url(api: Api) -> Iterator[str]:
    """The address of the API on a real port."""
    with served(api) as address:
        yield address


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API over two finished traces, for tests that only read."""
    with running_api(tmp_path_factory.mktemp("shared")) as running:
        running.store(*agent_run(1), *agent_run(2, service="billing"))
        running.finish()
        yield running
