"""The commands about keys, as the command line finds them by entry point.

They work on the file: no service need run, and one that runs reads what they change.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from rich.text import Text

from tracejury import terminal
from tracejury.terminal import age, one_line, visible
from tracejury_collector.config import load_config
from tracejury_collector.config.fields import Seconds
from tracejury_collector.errors import ConfigError
from tracejury_collector.keys.file import Keys, change_keys, read_keys
from tracejury_collector.keys.model import SCOPES, Key, NewKey, Scope, new_key

_DURATION: TypeAdapter[float] = TypeAdapter(Seconds)
_STYLES = {"active": "green", "expired": "yellow", "revoked": "dim"}


def create_key(
    name: str,
    scopes: Sequence[str],
    *,
    project: str | None,
    expires: str | None,
    config: Path | None,
    file: Path | None,
    as_json: bool,
) -> int:
    """Make a key and show its text, this once.

    Raises: ConfigError where the parts do not fit together or the file cannot be used.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    made = _made(name, scopes, now, project, _expiry(expires, now))
    path = _key_file(config, file)
    change_keys(path, lambda keys: _with(keys, made.key, now))
    if as_json:
        terminal.print_json({**_shown(made.key, now), "key": made.secret})
        return 0
    sys.stdout.write(f"{made.secret}\n")
    words = f"key {made.key.id} {visible(name)!r} is in {visible(str(path))}"
    terminal.console(stderr=True).print(
        Text(f"{words}; its text is shown this once, keep it safe"), soft_wrap=True
    )
    return 0


def list_keys(*, config: Path | None, file: Path | None, as_json: bool) -> int:
    """Show the keys, whatever their state; never their texts."""
    now = datetime.now(UTC)
    path = _key_file(config, file)
    keys = read_keys(path)
    if as_json:
        terminal.print_json({"items": [_shown(key, now) for key in keys]})
    elif not keys:
        terminal.console().print(
            Text(f"no keys in {visible(str(path))}: whoever reaches the service may do everything"),
            soft_wrap=True,
        )
    else:
        names = ("id", "name", "scopes", "project", "state", "created", "expires")
        rows = [_row(key, now) for key in keys]
        terminal.print_rows(terminal.console(), [(name, "left") for name in names], rows)
    return 0


def revoke_key(wanted: str, *, config: Path | None, file: Path | None, as_json: bool) -> int:
    """Revoke the key of this id or name: a running service refuses it within a second.

    Raises: ConfigError where there is no such key, or it is revoked.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    keys = change_keys(_key_file(config, file), lambda keys: _revoked(keys, wanted, now))
    revoked = next(key for key in keys if wanted in (key.id, key.name) and key.revoked_at == now)
    if as_json:
        terminal.print_json(_shown(revoked, now))
    else:
        words = f"revoked {revoked.id} {visible(revoked.name)!r}"
        terminal.console().print(Text(words), soft_wrap=True)
    return 0


def _key_file(config: Path | None, file: Path | None) -> Path:
    return file or load_config(config).key_file()


def _made(
    name: str,
    scopes: Sequence[str],
    now: datetime,
    project: str | None,
    expires_at: datetime | None,
) -> NewKey:
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        said = f"no scope is named {unknown[0]!r}" if unknown else "a key needs a scope"
        raise ConfigError(f"--scope: {said}; use {', '.join(SCOPES)}")
    wanted = cast(Sequence[Scope], scopes)
    try:
        return new_key(name, wanted, now, project=project, expires_at=expires_at)
    except ValidationError as error:
        first = error.errors()[0]
        place = f"--{first['loc'][0]}: " if first["loc"] else ""
        raise ConfigError(f"{place}{first['msg'].removeprefix('Value error, ')}") from error


def _expiry(expires: str | None, now: datetime) -> datetime | None:
    if expires is None:
        return None
    try:
        return now + timedelta(seconds=_DURATION.validate_python(expires))
    except (ValidationError, OverflowError) as error:
        raise ConfigError(
            f"--expires: {expires!r} is not a time that a key can live; write it like 90d or 12h"
        ) from error


def _with(keys: Keys, new: Key, now: datetime) -> Keys:
    for key in keys:
        if key.name == new.name and key.state(now) == "active":
            raise ConfigError(
                f"--name: key {key.id} is named {new.name!r} already; "
                "choose another name, or revoke that one first"
            )
    return (*keys, new)


def _revoked(keys: Keys, wanted: str, now: datetime) -> Keys:
    """Return the keys with one more revoked: the one of the id, or the last one of the name."""
    live = [key for key in keys if key.revoked_at is None and wanted in (key.id, key.name)]
    if not live:
        known = any(wanted in (key.id, key.name) for key in keys)
        said = (
            f"{wanted!r} is revoked already" if known else f"no key has the id or name {wanted!r}"
        )
        raise ConfigError(f"{said}; 'tracejury keys list' shows them")
    chosen = live[-1]
    return tuple(
        key.model_copy(update={"revoked_at": now}) if key is chosen else key for key in keys
    )


def _shown(key: Key, now: datetime) -> dict[str, Any]:
    return {**key.model_dump(mode="json", exclude={"sha256"}), "state": key.state(now)}


def _row(key: Key, now: datetime) -> list[Any]:
    state = key.state(now)
    return [
        key.id,
        one_line(key.name, 40),
        ",".join(key.scopes),
        key.project or "all",
        Text(state, style=_STYLES[state]),
        f"{age(key.created_at.isoformat())} ago",
        "never" if key.expires_at is None else key.expires_at.date().isoformat(),
    ]
