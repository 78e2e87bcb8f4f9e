"""Whose request a browser may have been made to send: what Host and Origin tell.

A web page cannot choose these headers. One of another origin is told by `Origin` and
`Sec-Fetch-Site`; one whose name was rebound to this machine's address, by `Host`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from tracejury_collector.errors import HostRefused, OriginRefused

EVERYWHERE = ("0.0.0.0", "::")


class Hosts:
    """The names by which a service may be called.

    They are this machine's loopback, the address it listens on (any IP address where that is a
    wildcard), and those of the configuration: a name that was rebound to the address is neither.
    """

    def __init__(self, listen: str, names: Iterable[str] = ()) -> None:
        self._listen = host_of(listen)
        self._names = {name.lower() for name in names}

    def check(self, host: str) -> None:
        """Check the Host of a request without a key.

        Raises: HostRefused
        """
        if not self._knows(host_of(host)):
            raise HostRefused(
                f"the host {host[:300]!r} is not where this service listens; use http://127.0.0.1 "
                "and the port, or the address it listens on, or add the name to listen.hosts"
            )

    def _knows(self, name: str) -> bool:
        if name == self._listen or name in self._names or is_loopback(name):
            return True
        return self._listen in EVERYWHERE and _address(name) is not None


def check_origin(method: str, headers: Mapping[str, str]) -> None:
    """Check that no page of another origin made a request.

    Raises: OriginRefused
    """
    origin = headers.get("origin")
    host = headers.get("host", "")
    if origin is not None and (not host or _netloc(origin) != host.lower()):
        raise _cross_origin(f"the origin {origin[:300]!r} is not this service")
    site = headers.get("sec-fetch-site", "none")
    navigates = headers.get("sec-fetch-mode") == "navigate" and method in ("GET", "HEAD")
    if site not in ("none", "same-origin") and not navigates:
        raise _cross_origin(f"a page of another origin ({site[:100]}) made this request")


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _cross_origin(words: str) -> OriginRefused:
    return OriginRefused(f"{words}; call the service from a program, or from its own page")


def host_of(address: str) -> str:
    """Return the host in "host:port", lower-case, without brackets; "" where there is none."""
    text = address.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if text.count(":") == 1 else text


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach the host of this name."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def headers_of(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers by lower-case name; of a repeated one, all values."""
    found: dict[str, str] = {}
    for name, value in raw:
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        found[key] = f"{found[key]},{text}" if key in found else text
    return found
