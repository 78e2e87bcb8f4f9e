"""The section of the configuration that says what users' SQL may cost."""

from __future__ import annotations

from pydantic import Field

from tracejury_collector.config.fields import Bytes, Seconds, Section

MAX_ROWS = 100_000


class QuerySettings(Section):
    """What one query that a user brings, and all of them together, may take."""

    timeout: Seconds = Field(
        default=10.0,
        description="longest run of one query, in seconds; one that cannot be interrupted then "
        "ends the store process 2 s later, which is started again",
    )
    wait: Seconds = Field(
        default=5.0,
        description="how long a query waits for its turn before it is refused, in seconds",
    )
    at_once: int = Field(
        default=4, gt=0, le=64, description="queries that run at the same time; others wait"
    )
    rows: int = Field(
        default=MAX_ROWS, gt=0, le=MAX_ROWS, description="most rows of one answer, whatever `limit`"
    )
    bytes: Bytes = Field(
        default=32 << 20, description="size at which an answer is truncated, in bytes"
    )
    memory: Bytes = Field(
        default=512 << 20,
        description="by how much the store process may grow while a query runs before that one is "
        "interrupted, in bytes; at twice as much the process is ended and started again",
    )
