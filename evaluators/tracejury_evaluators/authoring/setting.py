"""Where the evaluators of a command come from: a configuration, and files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracejury.services import load_service
from tracejury_evaluators.authoring.orders import Setup

SETTINGS_SERVICE = "evaluator-settings"


def setup_of(config: Path | None, plugins: Sequence[str]) -> Setup:
    """The plugins and named evaluators of the configuration, and the `plugins` given beside it.

    Raises: TracejuryError where the configuration cannot be used, or its reader not installed.
    """
    given = [_absolute(name) for name in plugins]
    if config is None:
        return Setup(folder=str(Path.cwd()), plugins=given)
    read = load_service(SETTINGS_SERVICE, "reading a configuration")
    found = Setup.model_validate(read(config))
    return found.model_copy(update={"plugins": [*found.plugins, *given]})


def _absolute(name: str) -> str:
    """A file as a path from the root, for a configuration may lie elsewhere; a module as it is."""
    return str(Path(name).absolute()) if name.endswith(".py") or "/" in name else name
