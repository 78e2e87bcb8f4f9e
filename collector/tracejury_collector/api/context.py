"""What the API is given by the wiring of the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from tracejury_collector.config import Config
from tracejury_collector.definitions import Definitions
from tracejury_collector.erasing import Eraser
from tracejury_collector.jury.budgets import Budgets
from tracejury_collector.jury.catalog import DescribedType
from tracejury_collector.jury.pool import JuryPool
from tracejury_collector.keys.ring import KeyRing, Reason
from tracejury_collector.maintenance import Maintenance
from tracejury_collector.redaction import NOTHING, Redactor
from tracejury_collector.renormalizing import Renormalizer
from tracejury_collector.runs.desk import RunDesk
from tracejury_collector.store.database import Database
from tracejury_collector.stories import Stories
from tracejury_collector.worker import Worker

Signal = Literal["traces", "logs", "metrics"]
Encoding = Literal["protobuf", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of one OTLP request: received = stored + duplicate + rejected."""

    received: int
    stored: int
    duplicate: int
    rejected: int
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiContext:
    """The parts of the service that the API serves.

    `ingest` takes the body of one OTLP export request through the decoder that the receiver
    uses, into a project if one is given, and resolves once it is stored; it raises
    MalformedRequest for what cannot be parsed.
    `listen` says where the service really listens: grpc, otlp_http, api -> "host:port".
    `dialect_files` names the file of each dialect that a user brings.
    `evaluator_types` are those built in and those of plugins.
    `redactor` takes out of what is given over the API what must not be stored.
    `ready` says whether the service does its work yet.
    """

    db: Database
    config: Config
    keys: KeyRing
    definitions: Definitions
    worker: Worker
    stories: Stories
    jury: JuryPool
    budgets: Budgets
    runs: RunDesk
    renormalizer: Renormalizer
    ingest: Callable[[Signal, Encoding, bytes, str | None], Future[Ingested]]
    eraser: Eraser
    maintenance: Maintenance
    started_ns: int
    version: str
    listen: Mapping[str, str] = field(default_factory=dict)
    dialect_files: Mapping[str, str] = field(default_factory=dict)
    evaluator_types: Sequence[DescribedType] = ()
    redactor: Redactor = NOTHING
    ready: Callable[[], bool] = lambda: True
    refused_by_receivers: Callable[[], Mapping[Reason, int]] = dict
    """Requests that were refused at the OTLP ports because of who made them, by why."""
