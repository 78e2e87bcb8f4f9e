"""Who makes a request: its key, by the file as it is now."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from tracejury_collector.errors import (
    ConfigError,
    Forbidden,
    HostRefused,
    OriginRefused,
    Unauthenticated,
    Unavailable,
)
from tracejury_collector.keys.file import Keys, read_keys
from tracejury_collector.keys.model import SCOPES, Key, Scope, find_key

LOOK_S: Final = 0.5
"""How often the file is looked at: how long a revoked key may still count."""
_QUIET_S = 10.0
_BEARER = "bearer "

Reason = Literal["key", "scope", "host", "origin"]
REASONS: Final[tuple[Reason, ...]] = ("key", "scope", "host", "origin")
Signature = tuple[int, int, int, int]

log = logging.getLogger("tracejury.keys")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who makes a request; `project` None sees all of them."""

    key_id: str
    name: str
    scopes: frozenset[Scope]
    project: str | None = None

    def may(self, scope: Scope) -> bool:
        """Say whether this is allowed; admin is everything."""
        return scope in self.scopes or "admin" in self.scopes


ANYONE: Final = Caller(key_id="", name="", scopes=frozenset(SCOPES))
"""Who calls a service without keys."""


_REASONS: Final[Mapping[type[Exception], Reason]] = {
    Unauthenticated: "key",
    Forbidden: "scope",
    HostRefused: "host",
    OriginRefused: "origin",
}


class Refusals:
    """Requests that were refused, counted by why; the log tells of a kind at most now and then."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[Reason] = Counter()
        self._clock_s = clock_s
        self._told: dict[Reason, tuple[float, int]] = {}

    def take(self) -> dict[Reason, int]:
        """Return what was counted since the last time."""
        taken, self.counts = dict(self.counts), Counter()
        return taken

    def note(self, error: Exception) -> None:
        """Count the refusal, if it is one of who made the request; no error holds a secret."""
        reason = _REASONS.get(type(error))
        if reason is None:
            return
        self.counts[reason] += 1
        told_s, silent = self._told.get(reason, (-_QUIET_S, 0))
        now_s = self._clock_s()
        if now_s - told_s < _QUIET_S:
            self._told[reason] = (told_s, silent + 1)
            return
        words = str(error).partition(";")[0]
        log.warning("refused: %s%s", words, f" (and {silent} like it)" if silent else "")
        self._told[reason] = (now_s, 0)


class KeyRing:
    """The keys in force, read again when their file changes.

    There are keys as soon as the file holds one, even a revoked one. A file that disappears or
    cannot be read leaves the keys as they were; a process that never read it lets nobody in.
    `required` says that there must be keys; `own` is the key of the service itself.
    """

    def __init__(
        self,
        path: Path,
        *,
        required: bool = False,
        own: Key | None = None,
        refusals: Refusals | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.refusals = refusals or Refusals()
        self._path = path
        self._required = required
        self._own = {own.id: own} if own else {}
        self._clock_s = clock_s
        self._now = now
        self._keys: Keys | None = None
        self._by_id: dict[str, Key] = {}
        self._signature: Signature | None = None
        self._looked_s = float("-inf")
        self._fault = ""

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return who made a request with these headers, whose names are in lower case.

        Raises: Unauthenticated; Unavailable where the keys cannot be read.
        """
        keys = self.in_force()
        if not keys and not self._required:
            return ANYONE
        key = self._found(headers)
        return Caller(
            key_id=key.id, name=key.name, scopes=frozenset(key.scopes), project=key.project
        )

    def in_force(self) -> Keys:
        """Return the keys as they are now, whatever their state.

        Raises: Unavailable where they could not be read yet.
        """
        now_s = self._clock_s()
        if now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            self._look()
        if self._keys is None:
            raise Unavailable(f"{self._fault or 'there are no keys yet'}; try again soon")
        return self._keys

    @property
    def is_stale(self) -> bool:
        """Whether the keys in force are not those of the file, which cannot be read."""
        return bool(self._fault)

    def _found(self, headers: Mapping[str, str]) -> Key:
        secret = _secret(headers)
        if not secret:
            raise Unauthenticated(
                "this service needs a key; "
                "send it as 'Authorization: Bearer tj_…' or 'x-api-key: tj_…'"
            )
        key = find_key(self._by_id, secret)
        if key is None:
            raise Unauthenticated("the key is not known here; 'tracejury keys list' shows what is")
        state = key.state(self._now())
        if state != "active":
            raise Unauthenticated(
                f"the key {key.id} ({key.name!r}) is {state}; "
                "make another with 'tracejury keys create'",
            )
        return key

    def _look(self) -> None:
        """Read the file if it is another one than before."""
        signature = _signature(self._path)
        if signature == self._signature and self._keys is not None:
            return
        if signature is None and (self._keys or self._required):
            self._fail(f"the file of keys {str(self._path)!r} is gone")
            return
        try:
            self._keys = read_keys(self._path)
        except ConfigError as error:
            self._fail(str(error).partition(";")[0])
            return
        self._by_id = {**{key.id: key for key in self._keys}, **self._own}
        self._signature, self._fault = signature, ""

    def _fail(self, fault: str) -> None:
        """Leave the keys as they are, and say so once."""
        if fault != self._fault:
            log.error("%s; the keys stay as they were", fault)
        self._fault = fault


def authorize(caller: Caller, scope: Scope) -> None:
    """Check that the caller's key allows this.

    Raises: Forbidden
    """
    if not caller.may(scope):
        raise Forbidden(
            f"the key {caller.key_id} ({caller.name!r}) has not the scope {scope!r}; "
            f"make one with 'tracejury keys create --scope {scope}'"
        )


def _secret(headers: Mapping[str, str]) -> str:
    """Return the key in a request; a proxy's own credentials may stand beside an x-api-key."""
    given = headers.get("authorization", "")
    if given[: len(_BEARER)].lower() == _BEARER:
        return given[len(_BEARER) :].strip()
    return headers.get("x-api-key", "").strip()


def _signature(path: Path) -> Signature | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size, found.st_mode
