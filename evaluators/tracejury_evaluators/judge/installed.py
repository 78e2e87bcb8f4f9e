"""Whether the libraries that judges need are there."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from tracejury_evaluators.endpoint import Provider

NEEDS: Mapping[Provider, tuple[tuple[str, ...], str]] = {
    "openai": (("pydantic_ai", "tenacity", "openai"), "judge"),
    "anthropic": (("pydantic_ai", "tenacity", "anthropic"), "judge-anthropic"),
    "google": (("pydantic_ai", "tenacity", "google.genai"), "judge-google"),
}


def require_installed(provider: Provider) -> None:
    """Check that a provider can be asked.

    Raises: ValueError naming the extra that brings what is missing.
    """
    modules, extra = NEEDS[provider]
    missing = [module for module in modules if not _is_there(module)]
    if missing:
        raise ValueError(
            f"a judge of {provider} needs {', '.join(missing)}; "
            f'install it with: pip install "tracejury[{extra}]"'
        )


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
