"""What each process of the service finds in its environment: what it needs, and no secret more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from tracejury_collector.config import Config
from tracejury_collector.forking import plain
from tracejury_evaluators.endpoint import KEY_PREFIX, usual_variables

Role = Literal["store", "assembler", "receiver", "jury", "judge"]

_PROXIES: Final = re.compile(r"(https?|all|no)_proxy", re.IGNORECASE)
"""Their URLs may hold a password: for those alone that ask other hosts."""
_NAMING: Final = ("env", "api_key_env", "apiKeyEnv")
"""The settings of evaluators that name variables."""


def environment_of(role: Role, config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a process of this role gets of the service's own environment.

    The store builds evaluators to check them, and so is told what judges are.
    """
    if role in ("receiver", "assembler"):
        return plain(environ)
    wanted = set(config.jury.env)
    if role != "jury":
        wanted.update(_named(config), usual_variables(), _for_judges(environ))
    return plain(environ) | {name: environ[name] for name in wanted if name in environ}


def _for_judges(environ: Mapping[str, str]) -> Iterator[str]:
    return (name for name in environ if name.startswith(KEY_PREFIX) or _PROXIES.fullmatch(name))


def _named(config: Config) -> Iterator[str]:
    """Yield the variables that the configuration's evaluators and their members name."""
    for evaluator in config.evaluators.values():
        yield from _names_in(evaluator.config)


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner) if key in _NAMING else _names_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names_in(inner)


def _texts(value: Any) -> Iterable[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return (text for text in values if isinstance(text, str))
