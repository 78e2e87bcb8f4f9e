"""What a configuration says to those who try evaluators without the service."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tracejury_collector.config import load_config


def evaluator_settings(path: Path) -> dict[str, Any]:
    """Return the plugins, where their paths start, the named evaluators, and the judge.

    The judge's key is among them: they are for a pipe, not for a log.
    Raises: ConfigError naming what is wrong.
    """
    config = load_config(path)
    return {
        "folder": str(path.absolute().parent),
        "plugins": config.plugins,
        "named": {
            name: {
                "type": spec.type,
                "config": spec.config,
                "criteria": spec.criteria,
                "timeout_s": spec.timeout,
            }
            for name, spec in config.effective_evaluators().items()
        },
        "judge": asdict(config.judge.endpoint()),
    }
