"""The section of the configuration that says who may call."""

from __future__ import annotations

from pydantic import Field

from tracejury_collector.config.fields import Section


class KeySettings(Section):
    """Who may call the service."""

    file: str | None = Field(
        default=None,
        min_length=1,
        description="file of the keys ([keys.md](keys.md)); left out, `.keys` is appended to the "
        "path of the database",
    )
    open_network: bool = Field(
        default=False,
        description="whether addresses that other machines can reach are served without keys: "
        "whoever reaches them may read and change everything, so something in front must check",
    )
