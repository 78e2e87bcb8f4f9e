"""Typed clients of the REST API."""

from __future__ import annotations

from tracejury.client.audit import AuditCalls
from tracejury.client.budgets import BudgetCalls
from tracejury.client.definitions import DefinitionCalls
from tracejury.client.downloads import AsyncFileDownload, FileDownload
from tracejury.client.imports import AsyncFileImport, FileImport
from tracejury.client.judging import JudgingCalls
from tracejury.client.labels import LabelCalls
from tracejury.client.operation import OperationCalls
from tracejury.client.outward import OutwardCalls
from tracejury.client.rates import RateCalls
from tracejury.client.renormalizations import RenormalizationCalls
from tracejury.client.runs import RunCalls
from tracejury.client.service import DEFAULT_URL
from tracejury.client.storage import StorageCalls
from tracejury.client.traces import TraceCalls

__all__ = ["DEFAULT_URL", "AsyncClient", "Client"]


class _Calls(
    TraceCalls,
    JudgingCalls,
    OperationCalls,
    BudgetCalls,
    RunCalls,
    RenormalizationCalls,
    OutwardCalls,
    RateCalls,
    DefinitionCalls,
    LabelCalls,
    StorageCalls,
    AuditCalls,
):
    """All calls, each defined once for both clients."""


class Client(_Calls, FileImport, FileDownload):
    """The API of one running service.

    `url` is where its API listens: the argument, else TRACEJURY_URL, else the default port.
    `api_key` is a key where the service asks for one: the argument, else TRACEJURY_API_KEY.
    A wait for the service ends after `timeout_s`. Reads that it refuses for now (503), or whose
    connection breaks, are made again for up to `retry_s`; writes are not, unless that is safe.

    Raises: UnreachableError where nothing answers, ApiError where the service refuses.
    """


class AsyncClient(_Calls, AsyncFileImport, AsyncFileDownload):
    """The API of one running service: the calls of `Client`, awaited.

    Lists are read with `async for`; parameters and errors are those of `Client`.
    """
