"""The models of pydantic-ai for an access; each provider's library is loaded where it is used."""

from __future__ import annotations

from typing import Any

import httpx2
from pydantic_ai.models import Model

from tracejury_evaluators.endpoint import PROVIDER_URLS, Access, origin

NO_KEY = "no-key"
"""Stands for a key towards libraries that insist on one; it is not sent."""


def model_of(access: Access, client: httpx2.AsyncClient) -> Model[Any]:
    """The model that asks this endpoint through this client."""
    key = access.api_key or NO_KEY
    if access.provider == "anthropic":
        return _anthropic(access, key, client)
    if access.provider == "google":
        return _google(access, key, client)
    return _openai(access, key, client)


def _openai(access: Access, key: str, client: httpx2.AsyncClient) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if origin(access.base_url) == origin(PROVIDER_URLS["openai"]):
        own = OpenAIProvider(base_url=access.base_url, api_key=key, http_client=client)
        return OpenAIChatModel(access.model, provider=own)
    other = OpenAICompatibleProvider(
        "openai", base_url=access.base_url, api_key=key, http_client=client
    )
    model = OpenAIChatModel(access.model, provider=other)
    if model.profile.get("openai_supports_reasoning", False):
        return model
    # servers other than OpenAI's know max_tokens, and not all of them its newer name
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    return OpenAIChatModel(access.model, provider=other, profile=profile)


def _anthropic(access: Access, key: str, client: httpx2.AsyncClient) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(base_url=access.base_url, api_key=key, http_client=client)
    return AnthropicModel(access.model, provider=provider)


def _google(access: Access, key: str, client: httpx2.AsyncClient) -> Model[Any]:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(base_url=access.base_url, api_key=key, http_client=client)
    return GoogleModel(access.model, provider=provider)
