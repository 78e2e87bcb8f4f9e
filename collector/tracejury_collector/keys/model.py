"""A key: what is stored of it, and what it allows.

The text of a key holds 256 random bits, which nobody can guess: a plain SHA-256 of it can be
stored. Slow hashes are for passwords, which people choose.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

Scope = Literal["ingest", "read", "write", "admin"]
State = Literal["active", "expired", "revoked"]

SCOPES: Final[tuple[Scope, ...]] = ("ingest", "read", "write", "admin")
_SECRET = re.compile(r"tj_([0-9a-f]{12})_[0-9a-f]{64}")


class Key(BaseModel):
    """What is stored of a key; its text is not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[0-9a-f]{12}$")
    name: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1, max_length=len(SCOPES))]
    project: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _sees_one_project_or_all(self) -> Self:
        if self.project is not None and "admin" in self.scopes:
            raise ValueError(
                "a key with the scope admin is for the whole service; leave the project out"
            )
        return self

    def state(self, now: datetime) -> State:
        """Say whether the key counts at `now`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key just made, and its text, which is nowhere else."""

    key: Key
    secret: str


def new_key(
    name: str,
    scopes: Iterable[Scope],
    now: datetime,
    *,
    project: str | None = None,
    expires_at: datetime | None = None,
) -> NewKey:
    """Return a new key.

    Raises: ValueError where the parts do not fit together.
    """
    key_id = secrets.token_hex(6)
    secret = f"tj_{key_id}_{secrets.token_hex(32)}"
    wanted = set(scopes)
    key = Key(
        id=key_id,
        name=name,
        scopes=tuple(scope for scope in SCOPES if scope in wanted),
        project=project,
        sha256=_digest(secret),
        created_at=now,
        expires_at=expires_at,
    )
    return NewKey(key=key, secret=secret)


def find_key(keys: Mapping[str, Key], secret: str) -> Key | None:
    """Return the key with this text, whatever its state, of `keys` by id; None if there is none.

    Only its id, which is no secret, chooses what the hash is compared with.
    """
    match = _SECRET.fullmatch(secret)
    key = keys.get(match[1]) if match else None
    return key if key and hmac.compare_digest(key.sha256, _digest(secret)) else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
