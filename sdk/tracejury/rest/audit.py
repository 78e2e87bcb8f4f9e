"""The audit log, as the API shows it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracejury.rest.base import Document


class AuditEntry(Document):
    """A change that was made over the API, or that someone tried to make."""

    audit_id: str = Field(description="its id")
    created_at: str = Field(description="when it was answered")
    key_id: str | None = Field(
        default=None, description="id of the caller's key; null: the service had no keys"
    )
    key_name: str | None = Field(default=None, description="name of that key")
    project: str | None = Field(
        default=None, description="project that the key is bound to; null: to none"
    )
    method: str = Field(description="POST, PUT or DELETE")
    route: str = Field(description="what was called, such as /api/rules/{name}")
    target: str = Field(description="the path as it was called, cut to 500 characters")
    status: int = Field(description="HTTP status of the answer")
    outcome: Literal["done", "refused", "failed"] = Field(
        description="whether it was done, refused since it is not for that key, or failed"
    )
