"""Whether a service may be served without keys."""

from __future__ import annotations

from tracejury_collector.config import Config
from tracejury_collector.errors import ConfigError
from tracejury_collector.keys.file import read_keys
from tracejury_collector.origins import host_of, is_loopback


def keys_required(config: Config) -> bool:
    """Say whether nobody may come in without a key, even if the file of keys disappears.

    Raises: ConfigError where the file cannot be used.
    """
    return bool(read_keys(config.key_file())) or (
        bool(open_addresses(config)) and not config.keys.open_network
    )


def refuse_open_network(config: Config) -> None:
    """Check that addresses which other machines can reach are served with keys alone.

    Raises: ConfigError with the remedies.
    """
    reachable = open_addresses(config)
    if not reachable or config.keys.open_network or read_keys(config.key_file()):
        return
    setting, address = next(iter(reachable.items()))
    raise ConfigError(
        f"listen.{setting}: other machines can reach {address!r}, and there are no keys in "
        f"{str(config.key_file())!r}; make one with "
        f"'tracejury keys create --name me --scope admin --file {config.key_file()}', "
        "or listen on 127.0.0.1, or set keys.open_network: true where something in front checks "
        "who calls"
    )


def open_addresses(config: Config) -> dict[str, str]:
    """Return the addresses that are not loopback, by their settings."""
    listen = config.listen.addresses()
    return {name: address for name, address in listen.items() if not is_loopback(host_of(address))}
