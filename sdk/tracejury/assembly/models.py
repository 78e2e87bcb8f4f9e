"""Names of models, without the provider that routers write before them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# As LiteLLM (`openai/gpt-4o`) and Pydantic AI (`openai:gpt-4o`) name them.
_PROVIDERS: Final = (
    *("openai", "anthropic", "azure", "azure_ai", "bedrock", "vertex_ai", "gemini", "groq"),
    *("google-gla", "google-vertex", "mistral", "cohere", "deepseek", "ollama", "ollama_chat"),
    *("openrouter", "together_ai", "fireworks_ai", "xai", "perplexity", "litellm_proxy"),
)
_PREFIXED: Final = re.compile(rf"({'|'.join(_PROVIDERS)})[/:](.+)", re.IGNORECASE)
# Providers whose models have a vendor in their names.
_ROUTERS: Final = frozenset({"openrouter", "together_ai", "fireworks_ai"})


@lru_cache(maxsize=4096)
def split_model(name: str, provider: str) -> tuple[str, str]:
    """The model's name and its provider: the one recorded, else the one before the name.

    A router's own names of models keep the vendor that is a part of them.
    """
    match = None if provider in _ROUTERS else _PREFIXED.fullmatch(name)
    if match is None:
        return name, provider
    return match[2], provider or match[1].lower()
