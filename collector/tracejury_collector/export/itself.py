"""Whether an endpoint is this service: its own results must not come back to it."""

from __future__ import annotations

import socket
from collections.abc import Iterable

import httpx

from tracejury_collector.errors import ConfigError

_EVERYWHERE = ("0.0.0.0", "::")


def refuse_itself(endpoint: str, listen: Iterable[str]) -> None:
    """Check that the endpoint is none of the addresses "host:port" that this service listens on.

    Raises: ConfigError with the remedy.
    """
    url = httpx.URL(endpoint)
    port = url.port or (443 if url.scheme == "https" else 80)
    own = [address.rpartition(":") for address in listen]
    hosts = {host.strip("[]") for host, _, number in own if int(number) == port}
    if hosts and any(_meets(address, hosts) for address in _addresses(url.host)):
        raise ConfigError(
            f"export.otlp.endpoint: {url.host}:{port} is this service; name another receiver"
        )


def _meets(address: str, hosts: set[str]) -> bool:
    if address in hosts or address in _EVERYWHERE:
        return True
    if not hosts.isdisjoint(_EVERYWHERE):
        return _is_local(address)
    return any(host == "localhost" for host in hosts) and _is_local(address)


def _addresses(host: str) -> set[str]:
    """Return what the host resolves to now; nothing where it does not."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {str(entry[4][0]) for entry in found}


def _is_local(address: str) -> bool:
    """Say whether this machine has the address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
