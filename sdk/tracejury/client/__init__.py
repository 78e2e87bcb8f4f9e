"""A typed client of the REST API."""

from __future__ import annotations

from tracejury.client.budgets import BudgetCalls
from tracejury.client.connection import DEFAULT_URL
from tracejury.client.definitions import DefinitionCalls
from tracejury.client.judging import JudgingCalls
from tracejury.client.labels import LabelCalls
from tracejury.client.operation import OperationCalls
from tracejury.client.outward import OutwardCalls
from tracejury.client.rates import RateCalls
from tracejury.client.renormalizations import RenormalizationCalls
from tracejury.client.runs import RunCalls
from tracejury.client.traces import TraceCalls

__all__ = ["DEFAULT_URL", "Client"]


class Client(
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
):
    """The API of one running service.

    `url` is where its API listens: the argument, else TRACEJURY_URL, else the default port.

    Raises: UnreachableError where nothing answers, ApiError where the service refuses.
    """
