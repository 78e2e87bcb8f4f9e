"""`tracejury doctor --dialects`: a dialect of one's own, tried on spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from tracejury.client import Client
from tracejury.dialects.custom import CustomDialect
from tracejury.dialects.files import read_dialect
from tracejury.dialects.tables import BUILT_IN
from tracejury.dialects.trial import Trial, try_dialect
from tracejury.errors import UnreachableError
from tracejury.otlp_spans import read_spans
from tracejury.trace import SpanEvent, SpanRecord

MAX_RECORDS = 20_000
_RECENT = """
SELECT name, scope, resource, attributes, events FROM spans
WHERE seq > (SELECT max(seq) FROM spans) - ? ORDER BY seq DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectCheck:
    """A valid file, and what it found in the spans of `source`; None where none were asked for."""

    custom: CustomDialect
    source: str
    trial: Trial | None

    @property
    def replaces(self) -> bool:
        """Whether it takes the place of a built-in dialect."""
        return any(dialect.name == self.custom.dialect.name for dialect in BUILT_IN)

    def to_json(self) -> dict[str, Any]:
        """Return the check as JSON data."""
        dialect = self.custom.dialect
        return {
            "file": self.custom.file,
            "valid": True,
            "name": dialect.name,
            "label": dialect.label,
            "replaces_built_in": self.replaces,
            "source": self.source,
            "trial": asdict(self.trial) if self.trial else None,
        }


def check_dialect(
    file: Path, otlp: Sequence[Path], url: str | None, *, offline: bool, records: int
) -> DialectCheck:
    """Return what the dialect in `file` finds: in the OTLP files, else in the service's spans.

    `records` bounds how many of the service's newest records are looked at.

    Raises: DefinitionError for a file that cannot be used; UnreachableError where no service
    answers; TracejuryError and OSError for OTLP files.
    """
    custom = read_dialect(file)
    if otlp:
        source = ", ".join(str(path) for path in otlp)
        return DialectCheck(
            custom=custom, source=source, trial=try_dialect(custom, read_spans(otlp))
        )
    if offline:
        return DialectCheck(custom=custom, source="", trial=None)
    with Client(url) as client:
        try:
            trial = try_dialect(custom, _recent(client, records))
        except UnreachableError as error:
            raise UnreachableError(
                f"{file} is valid, but {error}; or try it with --otlp FILE, or --offline"
            ) from error
        return DialectCheck(custom=custom, source=f"the newest spans at {client.url}", trial=trial)


def _recent(client: Client, records: int) -> Iterator[SpanRecord]:
    result = client.sql(_RECENT, [records], limit=records)
    for name, scope, resource, attributes, events in result.rows:
        yield SpanRecord(
            trace_id="",
            span_id="",
            name=name,
            attributes=_data(attributes),
            events=tuple(
                SpanEvent(name=event["name"], attributes=event["attributes"])
                for event in _data(events)
            ),
            resource=_data(resource).get("attributes", {}),
            scope_name=_data(scope).get("name", ""),
        )


def _data(value: Any) -> Any:
    return orjson.loads(value) if isinstance(value, str) else value
