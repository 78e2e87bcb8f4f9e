"""The errors of the service, drawn once; the edges translate them.

TracejuryError
├── ConfigError                 the configuration cannot be used
│   └── InUse                   another process holds what it names
├── RequestError                the request can never succeed
│   ├── Unauthenticated         it has no key, or none that counts
│   ├── Forbidden               what it asks for is not for this key
│   ├── HostRefused             it names another host than this service
│   ├── OriginRefused           a page of another origin made it
│   ├── MalformedRequest        it cannot be parsed
│   ├── UnsupportedMediaType    its content type or encoding is not spoken here
│   ├── TooLarge                it is over a limit
│   ├── NotFound                what it names does not exist
│   ├── InvalidRequest          what it asks for does not fit together
│   ├── TooManyRuns             as much is being judged on demand as may be at a time
│   ├── Conflict                what it names cannot be changed so now
│   ├── PreconditionFailed      what it would change is not what it expects
│   └── SqlRefused              its SQL is not allowed, or does not run
│       └── SqlTooLarge         its SQL needs more memory than there is
├── AssemblyFailed              the assembler cannot rebuild what it was given
├── StoreDied                   the store died, again and again, with a request in hand
├── CopyFailed                  a copy of the database could not be finished
└── Unavailable                 try again soon
    ├── Damaged                 the database does not give back what was written to it
    └── ShortOfMemory           the database needs more memory than it may take
"""

from __future__ import annotations

from dataclasses import dataclass

from tracejury.errors import TracejuryError


class ConfigError(TracejuryError):
    """The configuration cannot be used."""


class InUse(ConfigError):
    """Another process holds what the configuration names; it may be about to leave."""


class RequestError(TracejuryError):
    """The request can never succeed as it is."""


class Unauthenticated(RequestError):
    """The request has no key, or none that counts."""


class Forbidden(RequestError):
    """What the request asks for is not for its key."""


class HostRefused(RequestError):
    """The request names another host than this service."""


class OriginRefused(RequestError):
    """A page of another origin made the request."""


class MalformedRequest(RequestError):
    """The request cannot be parsed."""


class UnsupportedMediaType(RequestError):
    """The content type or content encoding is not spoken here."""


class TooLarge(RequestError):
    """The request is over a limit."""


class NotFound(RequestError):
    """What the request names does not exist."""


class InvalidRequest(RequestError):
    """What the request asks for does not fit together."""


class TooManyRuns(RequestError):
    """As many runs go on as may at a time."""


class Conflict(RequestError):
    """The request does not fit to what is there now."""


class PreconditionFailed(RequestError):
    """What the request would change has another version than it expects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlPlace:
    """Where a text of SQL is wrong: counted from 1; the excerpt is that line and a caret below."""

    line: int
    character: int
    excerpt: str


class SqlRefused(RequestError):
    """The SQL is not allowed, or does not run.

    `offset` counts bytes of UTF-8 from the start of what was parsed; `place` is for people.
    """

    def __init__(
        self, message: str, *, offset: int | None = None, place: SqlPlace | None = None
    ) -> None:
        super().__init__(message)
        self.offset = offset
        self.place = place


class SqlTooLarge(SqlRefused):
    """The SQL needs more memory than there is."""


class AssemblyFailed(TracejuryError):
    """The assembler cannot rebuild traces that it was given, or died at them."""


class StoreDied(TracejuryError):
    """The store died, as often as was to be borne, before it answered a request."""


class CopyFailed(TracejuryError):
    """A copy of the database could not be finished; the database is as it was."""


class Unavailable(TracejuryError):
    """The service cannot take this now; the same request will succeed later."""


class Damaged(Unavailable):
    """The database does not give back what was written to it."""


class ShortOfMemory(Unavailable):
    """The database needs more memory than it may take now."""
