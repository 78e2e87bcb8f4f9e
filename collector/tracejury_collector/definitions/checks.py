"""What may be defined over the API, beyond what the types themselves accept."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from tracejury_collector.config import EvaluatorSpec
from tracejury_collector.definitions.bodies import Schemas, secrets_in
from tracejury_collector.errors import ConfigError
from tracejury_collector.jury.building import MEMBERS, members_of, types_in
from tracejury_evaluators.plugins import FILE_SCHEME
from tracejury_evaluators.process.script import Process

MAX_DEPTH = 40
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_URLS = ("url", "base_url", "baseUrl")
_METADATA_NAMES = ("metadata.google.internal", "metadata.goog")
_TEMPLATES = ("template", "evaluator_template", "evaluatorTemplate", "prompt")


def check_name(name: str) -> None:
    """Check that a name can stand in a path, a table and a metric.

    Raises: ConfigError with the remedy.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"name: {name[:120]!r} cannot be used; take up to 100 of a-z, A-Z, 0-9, _, - and ., "
            "not starting with - or ."
        )


def check_depth(body: Any, depth: int = 0) -> None:
    """Check that a body is not nested deeper than a reader could follow.

    Raises: ConfigError with the remedy.
    """
    if depth > MAX_DEPTH:
        raise ConfigError(f"body: it is nested deeper than {MAX_DEPTH} levels; make it flatter")
    if isinstance(body, Mapping | list):
        for value in body.values() if isinstance(body, Mapping) else body:
            check_depth(value, depth + 1)


def check_evaluator(name: str, spec: EvaluatorSpec, schemas: Schemas, *, commands: bool) -> None:
    """Check that an evaluator holds no secret, and no command or file unless `commands` may be.

    Raises: ConfigError naming the place and the remedy.
    """
    secret = next(secrets_in(spec.type, spec.config, schemas), None)
    if secret is not None:
        raise ConfigError(
            f"evaluators.{name}: {secret}: secrets are kept in no database; "
            "define this evaluator in the configuration file, the secret as ${VARIABLE}"
        )
    reached = None if commands else next(_reaching_out(spec.model_dump()), None)
    if reached is not None:
        raise ConfigError(
            f"evaluators.{name}: {reached}, which the API may not define; define it in the "
            "configuration file, or set definitions.commands there"
        )


def members_named(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of evaluators among the members of a composite, at any depth."""
    config = spec.get("config")
    for key in MEMBERS if isinstance(config, Mapping) else ():
        members = config.get(key) if isinstance(config, Mapping) else None
        for member in members if isinstance(members, list | tuple) else ():
            if isinstance(member, str):
                yield member
            elif isinstance(member, Mapping) and "type" in member:
                yield from members_named(member)
            elif isinstance(member, Mapping) and isinstance(member.get("evaluator"), str):
                yield member["evaluator"]


def _reaching_out(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield what in a spec runs commands or reads files of the machine, in words."""
    for type_name in types_in(spec):
        if type_name == Process.type or type_name.startswith(FILE_SCHEME):
            yield f"type: {type_name!r} runs what the service's machine holds"
    yield from _keys_named(spec)
    yield from _hosts_of_the_machine(spec)
    yield from _templates_in_files(spec)


def _keys_named(spec: Mapping[str, Any]) -> Iterator[str]:
    config = spec.get("config")
    if isinstance(config, Mapping) and config.get("api_key_env", config.get("apiKeyEnv")):
        yield "config.api_key_env: it sends a key of the service to a host of its own"
    for member in members_of(spec):
        yield from _keys_named(member)


def _hosts_of_the_machine(spec: Mapping[str, Any]) -> Iterator[str]:
    config = spec.get("config")
    for key in _URLS if isinstance(config, Mapping) else ():
        url = config.get(key) if isinstance(config, Mapping) else None
        if isinstance(url, str) and _is_link_local(url):
            yield f"config.{key}: its host tells the service's machine who it is"
    for member in members_of(spec):
        yield from _hosts_of_the_machine(member)


def _is_link_local(url: str) -> bool:
    """Return whether a URL names a link-local address, where clouds serve their credentials."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    if host.rstrip(".") in _METADATA_NAMES:
        return True
    found = _address(host.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or found
    return mapped is not None and mapped.is_link_local


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a host is, also one like `0xa9fea9fe`; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _templates_in_files(spec: Mapping[str, Any]) -> Iterator[str]:
    config = spec.get("config")
    if not isinstance(config, Mapping) or not str(spec.get("type")).startswith("llm-"):
        config = {}
    for key in _TEMPLATES:
        given = config.get(key)
        if isinstance(given, str) and "{{" not in given and "\n" not in given:
            yield f"config.{key}: {given[:100]!r} is a file of the service's machine"
    for member in members_of(spec):
        yield from _templates_in_files(member)
