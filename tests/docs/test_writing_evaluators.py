"""The guide for authors: every block on it works, in its order, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import yaml

from tests.helpers.docs import DOCS
from tracejury_collector.config import Config, parse_config
from tracejury_evaluators.endpoint import use_endpoint
from tracejury_evaluators.plugins import ENTRY_POINT_GROUP, full_registry

PAGE = (DOCS / "writing-evaluators.md").read_text("utf-8")
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# file: (\S+)\n")
BLOCKS = [(m[2], textwrap.dedent(m[3])) for m in BLOCK.finditer(PAGE)]


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
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}{done.stderr}"


def build_all(config: Config, folder: Path) -> None:
    registry = full_registry(folder, config.plugins)
    use_endpoint(config.judge.endpoint())
    try:
        for spec in config.evaluators.values():
            registry.build(spec.type, spec.config)
    finally:
        use_endpoint(None)


def test_the_blocks_of_the_guide_work_one_after_the_other(tmp_path: Path) -> None:
    for language, block in BLOCKS:
        if named := FILE.match(block):
            (tmp_path / named[1]).write_text(block, encoding="utf-8")
        if language == "python" and not named:
            run([sys.executable, "-W", "error", "-c", block], tmp_path)
        elif language == "python":
            compile(block, "guide", "exec")
        elif language == "bash":
            run(["bash", "-euo", "pipefail", "-c", block], tmp_path)
        elif language == "yaml":
            build_all(parse_config(yaml.safe_load(block)), tmp_path)
        else:
            assert list(tomllib.loads(block)["project"]["entry-points"]) == [ENTRY_POINT_GROUP]


def test_every_block_is_of_a_kind_that_is_run() -> None:
    assert len(BLOCKS) == PAGE.count("```") // 2
    assert {language for language, _ in BLOCKS} == {"python", "bash", "yaml", "toml"}
