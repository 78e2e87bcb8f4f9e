"""Fixtures of the API's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.api import Api, running_api, served


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
