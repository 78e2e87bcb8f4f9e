"""The ports of the service: bound before anything is started that could use them."""

from __future__ import annotations

import errno
import logging
import socket
import time

from tracejury_collector.config import Listen
from tracejury_collector.errors import ConfigError

log = logging.getLogger("tracejury.service")

BACKLOG = 1024
_POLL_S = 0.1


def refuse_shared_ports(listen: Listen) -> None:
    """Raise ConfigError where two settings name one address."""
    taken: dict[str, str] = {}
    for setting, address in listen.addresses().items():
        other = taken.setdefault(address, setting)
        if other != setting and not address.endswith(":0"):
            raise ConfigError(
                f"listen.{setting}: {address!r} is the address of listen.{other} too; "
                "choose another port (port 0 takes a free one)"
            )


def bind(setting: str, address: str, deadline_s: float, *, reserve: bool = False) -> socket.socket:
    """Return a bound socket: listening, or only holding the port for others (`reserve`).

    A service whose supervisor was killed is given until `deadline_s` to leave the port.

    Raises: ConfigError naming the setting if the address cannot be had.
    """
    waiting = False
    while True:
        try:
            return _bind_now(address, reserve=reserve)
        except (OSError, OverflowError) as error:
            in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if not in_use or time.monotonic() > deadline_s:
                raise ConfigError(
                    f"{setting}: cannot listen on {address!r}: {error}; "
                    "stop what uses it, or choose another address (port 0 takes a free one)"
                ) from error
        if not waiting:
            waiting = True
            log.info("%s: %s is in use; waiting a moment for it", setting, address)
        time.sleep(_POLL_S)


def _bind_now(address: str, *, reserve: bool) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reserve:
            _refuse_if_served(family, host, int(port))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((host, int(port)))
        if not reserve:
            bound.listen(BACKLOG)
    except (OSError, OverflowError):
        bound.close()
        raise
    return bound


def _refuse_if_served(family: int, host: str, port: int) -> None:
    """Raise OSError if another process already listens there with a shared port."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


def address_of(bound: socket.socket) -> str:
    """Return the address of a socket as HOST:PORT."""
    host, port = bound.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
