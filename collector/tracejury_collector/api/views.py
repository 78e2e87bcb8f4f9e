"""The views that SQL can read."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Query

from tracejury.rest import Page, View, ViewColumn
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.api.types import NoQuery
from tracejury_collector.store.sqlallowed import VIEWS

router = APIRouter(tags=["sql"])


@router.get("/api/views", responses=problems(422))
def list_views(context: Context, _query: Annotated[NoQuery, Query()]) -> Page[View]:
    """List the views that SQL and conditions can read, each with its columns."""
    rows = [row for row in context.db.rows("list_views") if row["view"] in VIEWS]
    grouped = groupby(rows, key=lambda row: (row["view"], row["about"]))
    return Page(items=[_view(name, about, list(columns)) for (name, about), columns in grouped])


def _view(name: str, about: str, columns: list[dict[str, Any]]) -> View:
    shown = [
        ViewColumn(name=row["name"], type=row["type"], description=row["description"])
        for row in columns
    ]
    return View(name=name, description=about, columns=shown)
