"""Where judges are asked: the endpoint that is configured, and which key may go to which host."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from tracejury.evaluator.validation import nearest

Provider = Literal["openai", "anthropic", "google"]

PROVIDERS: tuple[Provider, ...] = get_args(Provider)
KEY_PREFIX = "TRACEJURY_JUDGE_KEY_"
"""How the variables begin whose keys an evaluator's config may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEndpoint:
    """The model that judges are unless they name another, where it is, and the key for there.

    `model` is written PROVIDER:MODEL; an empty `base_url` is the provider's own.
    """

    model: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A model, the URL it is asked at, and the key that goes there; "" where none does."""

    provider: Provider
    model: str
    base_url: str
    api_key: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The model as it is written in a config."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an evaluator asks: a model at an endpoint, or with model "" another service.

    `calls` is how many requests a run takes where none has to be repeated; `key` is a word for
    the key that is used there, never the key itself.
    """

    model: str
    url: str
    key: str = ""
    calls: int = 1

    @property
    def place(self) -> str:
        """What is asked, as it stands in a sentence."""
        return f"{self.model} at {self.url}" if self.model else self.url


@dataclass(frozen=True, slots=True, kw_only=True)
class _Usual:
    """Where a provider is, and the environment variables that its users set."""

    url: str
    url_variable: str
    key_variables: tuple[str, ...]


_USUAL: Final[Mapping[Provider, _Usual]] = {
    "openai": _Usual(
        url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        key_variables=("OPENAI_API_KEY",),
    ),
    "anthropic": _Usual(
        url="https://api.anthropic.com",
        url_variable="ANTHROPIC_BASE_URL",
        key_variables=("ANTHROPIC_API_KEY",),
    ),
    "google": _Usual(
        url="https://generativelanguage.googleapis.com",
        url_variable="GOOGLE_GEMINI_BASE_URL",
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    ),
}

PROVIDER_URLS: Final[Mapping[Provider, str]] = {name: usual.url for name, usual in _USUAL.items()}

OWN_VARIABLES: Final = (
    "TRACEJURY_JUDGE_MODEL",
    "TRACEJURY_JUDGE_BASE_URL",
    "TRACEJURY_JUDGE_API_KEY",
)
"""The variables that say what judges are, where no configuration does."""

_IN_FORCE: Final[list[JudgeEndpoint | None]] = [None]


def usual_variables() -> Iterator[str]:
    """Yield the variables that say where judges are asked, and with which key."""
    yield from OWN_VARIABLES
    for usual in _USUAL.values():
        yield from (usual.url_variable, *usual.key_variables)


def asked_by(evaluator: object) -> tuple[Asked, ...]:
    """What an evaluator asks, outside of this process; nothing where it does not say."""
    found = getattr(evaluator, "asked", ())
    return tuple(one for one in found if isinstance(one, Asked))


def use_endpoint(endpoint: JudgeEndpoint | None) -> None:
    """Put an endpoint in force for this process; None leaves it to the environment again."""
    _IN_FORCE[0] = endpoint


def active_endpoint(environ: Mapping[str, str] = os.environ) -> JudgeEndpoint:
    """The endpoint in force; what was not put in force is read from the environment.

    The variables are TRACEJURY_JUDGE_MODEL, TRACEJURY_JUDGE_BASE_URL and
    TRACEJURY_JUDGE_API_KEY; URL and key are always taken from the same place.
    """
    model, base_url, api_key = (environ.get(name, "") for name in OWN_VARIABLES)
    usual = JudgeEndpoint(model=model, base_url=base_url, api_key=api_key)
    given = _IN_FORCE[0] or usual
    pair = given if given.base_url or given.api_key else usual
    return JudgeEndpoint(
        model=given.model or usual.model, base_url=pair.base_url, api_key=pair.api_key
    )


def resolve(
    model: str | None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    *,
    configured: JudgeEndpoint | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Access:
    """The access that an evaluator's settings mean; what they leave open is the configured.

    Raises: ValueError where there is no model, where a name or URL cannot be used, and where a
    key would cross a network in the clear. No message holds a key.
    """
    default = active_endpoint(environ) if configured is None else configured
    name = model or default.model
    if not name:
        raise ValueError(
            "no judge model is configured; set judge.model in the configuration, "
            "TRACEJURY_JUDGE_MODEL, or `model` here, such as 'openai:gpt-5-mini'"
        )
    provider, model_name = _split(name)
    own = _own_pair(provider, default, environ)
    url = _checked(base_url) if base_url else own[0]
    key = _named_key(api_key_env, environ) if api_key_env else _key_for(url, own, default, environ)
    if key and url.startswith("http://") and not _is_loopback(url):
        raise ValueError(f"{url!r} would carry the key in the clear; use https://")
    return Access(provider=provider, model=model_name, base_url=url, api_key=key)


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of a URL: what a key is bound to."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, (parts.hostname or "").lower(), port


def _split(name: str) -> tuple[Provider, str]:
    prefix, colon, model = name.partition(":")
    for provider in PROVIDERS:
        if prefix == provider and model.strip():
            return provider, model
    hint = nearest(prefix, PROVIDERS) if colon else ""
    raise ValueError(
        f"the model {name!r} is not written PROVIDER:MODEL with one of {', '.join(PROVIDERS)}{hint}"
        "; for any server that speaks OpenAI's chat completions write 'openai:MODEL' and base_url"
    )


def _own_pair(
    provider: Provider, default: JudgeEndpoint, environ: Mapping[str, str]
) -> tuple[str, str]:
    """The URL and key of a provider: the configured ones, else those of its usual variables."""
    meant = default.model or "openai:"
    if meant.startswith(f"{provider}:") and (default.base_url or default.api_key):
        usual = _USUAL[provider]
        url = _checked(default.base_url) if default.base_url else usual.url
        return url, default.api_key or _usual_key(provider, url, environ)
    url = _usual_url(provider, environ)
    return url, _usual_key(provider, url, environ)


def _key_for(
    url: str, own: tuple[str, str], default: JudgeEndpoint, environ: Mapping[str, str]
) -> str:
    """The key that belongs to the URL's host; "" where none does."""
    if origin(url) == origin(own[0]):
        return own[1]
    if default.api_key and default.base_url and origin(url) == origin(_checked(default.base_url)):
        return default.api_key
    keys = (_usual_key(provider, url, environ) for provider in PROVIDERS)
    return next((key for key in keys if key), "")


def _usual_url(provider: Provider, environ: Mapping[str, str]) -> str:
    given = environ.get(_USUAL[provider].url_variable, "")
    return _checked(given) if given else _USUAL[provider].url


def _usual_key(provider: Provider, url: str, environ: Mapping[str, str]) -> str:
    """The key of the provider's usual variables if the URL is on the host that they mean."""
    if origin(url) != origin(_usual_url(provider, environ)):
        return ""
    keys = (environ.get(name, "") for name in _USUAL[provider].key_variables)
    return next((key for key in keys if key), "")


def _named_key(variable: str, environ: Mapping[str, str]) -> str:
    if not variable.startswith(KEY_PREFIX):
        raise ValueError(
            f"api_key_env {variable!r} does not begin with {KEY_PREFIX}; only such variables may "
            "be sent to a host that an evaluator names"
        )
    key = environ.get(variable, "")
    if not key:
        raise ValueError(f"the environment variable {variable!r} is not set; put the key there")
    return key


def _checked(url: str) -> str:
    """The URL without a final slash.

    Raises: ValueError where it is no plain http(s) URL of a host.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("base_url is no URL; write it like 'https://host:port/v1'")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("base_url holds more than a host and a path; give the key as api_key")
    return url.rstrip("/")


def _is_loopback(url: str) -> bool:
    host = origin(url)[1]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
