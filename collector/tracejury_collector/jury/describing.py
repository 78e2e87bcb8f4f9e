"""A short-lived process that imports the plugins and says what they bring.

It writes lines of JSON: {"doing": WORDS} before each thing that may go wrong, at the end
{"catalog": {...}} or {"error": SENTENCE}.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import orjson

from tracejury.errors import TracejuryError
from tracejury_collector.config import Config
from tracejury_collector.jury.catalog import Catalog, catalog_of
from tracejury_collector.jury.confinement import confine
from tracejury_evaluators.plugins import PluginRegistry, all_plugins

Report = Callable[[dict[str, Any]], None]


def main() -> None:
    """Read the order from standard input, describe, and leave nothing running."""
    order = orjson.loads(sys.stdin.buffer.readline())
    config = Config.model_validate_json(order["config"])
    channel = os.dup(1)

    def report(line: dict[str, Any]) -> None:
        data = orjson.dumps(line, option=orjson.OPT_NON_STR_KEYS) + b"\n"
        while data:
            data = data[os.write(channel, data) :]

    confine(config.jury.memory)
    try:
        catalog = _described(config, Path(order["folder"]), order["names"], report)
        report({"catalog": catalog.model_dump(mode="json")})
    except BaseException as error:  # noqa: BLE001 - plugins may raise anything, at any time
        report({"error": _sentence(error)})
    os._exit(0)  # whatever threads and exit handlers plugins have left


def _described(
    config: Config, folder: Path, names: Collection[str] | None, report: Report
) -> Catalog:
    registry = PluginRegistry(folder)
    for plugin in all_plugins(folder, config.plugins):
        report({"doing": f"{plugin.origin}: importing it"})
        registry.add(plugin)
    report({"doing": "evaluators: building those that are configured"})
    return catalog_of(config, registry, names)


def _sentence(error: BaseException) -> str:
    text = str(error) if isinstance(error, TracejuryError) else f"{type(error).__name__}: {error}"
    return text.encode("utf-8", "replace").decode()


if __name__ == "__main__":
    main()
