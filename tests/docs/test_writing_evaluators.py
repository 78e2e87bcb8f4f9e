"""The guide for authors: every block on it works, in its order, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.helpers.docs import DOCS
from tracejury_collector.config import Config, parse_config
from tracejury_evaluators.endpoint import use_endpoint
from tracejury_evaluators.plugins import ENTRY_POINT_GROUP, full_registry

PAGE = (DOCS / "writing-evaluators.md").read_text("utf-8")
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# file: (\S+)\n")
BLOCKS = [(m[2], textwrap.dedent(m[3])) for m in BLOCK.finditer(PAGE)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the reader works."""
    return tmp_path_factory.mktemp("guide")


def run(command: list[str], folder: Path) -> None:
    script = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{script}{os.pathsep}{os.environ['PATH']}",
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:asyncio",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def build_all(config: Config, folder: Path) -> None:
    registry = full_registry(folder, config.plugins)
    use_endpoint(config.judge.endpoint())
    try:
        for spec in config.evaluators.values():
            registry.build(spec.type, spec.config)
    finally:
        use_endpoint(None)


@pytest.mark.parametrize(("language", "block"), BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_of_the_guide_works(language: str, block: str, folder: Path) -> None:
    if named := FILE.match(block):
        (folder / named[1]).write_text(block, encoding="utf-8")
    if language == "python" and not named:
        run([sys.executable, "-W", "error", "-c", block], folder)
    elif language == "python":
        compile(block, "guide", "exec")
    elif language == "bash":
        run(["bash", "-euo", "pipefail", "-c", block], folder)
    elif language == "yaml":
        build_all(parse_config(yaml.safe_load(block)), folder)
    else:
        assert list(tomllib.loads(block)["project"]["entry-points"]) == [ENTRY_POINT_GROUP]


def test_every_block_is_of_a_kind_that_is_run() -> None:
    assert len(BLOCKS) == PAGE.count("```") // 2
    assert {language for language, _ in BLOCKS} == {"python", "bash", "yaml", "toml"}
