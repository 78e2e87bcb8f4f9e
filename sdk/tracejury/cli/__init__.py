"""The command line.

Exit codes: 0 fine, 1 a check failed, 2 wrong use, 3 the service could not be reached.
"""

from tracejury.cli import service, traces, evaluators, definitions, budgets, rates, runs  # isort: skip  # the order of the help
from tracejury.cli import labels, data, importing, outward, renormalize, storage, keys, audit  # isort: skip
from tracejury.cli import maintenance, erase, export  # isort: skip
from tracejury.cli.app import app

__all__ = [
    "app",
    "audit",
    "budgets",
    "data",
    "definitions",
    "erase",
    "evaluators",
    "export",
    "importing",
    "keys",
    "labels",
    "main",
    "maintenance",
    "outward",
    "rates",
    "renormalize",
    "runs",
    "service",
    "storage",
    "traces",
]


def main() -> None:
    """Run the command line."""
    app()
