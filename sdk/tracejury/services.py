"""Commands that other parts of Tracejury offer, found by entry point and never by import."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from tracejury.errors import MissingExtraError

GROUP = "tracejury.services"


def load_service(name: str, purpose: str, extra: str = "server") -> Callable[..., Any]:
    """What the entry point `name` stands for; `purpose` is what needs it, for the message.

    Raises: MissingExtraError that says what to install.
    """
    found = entry_points(group=GROUP, name=name)
    try:
        loaded: Callable[..., Any] = next(iter(found)).load()
    except (StopIteration, ImportError) as error:
        missing = getattr(error, "name", None) or name
        raise MissingExtraError(
            f"{purpose} needs the extra {extra!r} (there is no module {missing!r}): "
            f"pip install 'tracejury[{extra}]'"
        ) from error
    return loaded
