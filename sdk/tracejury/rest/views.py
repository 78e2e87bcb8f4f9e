"""The views that SQL can read, as the API shows them."""

from __future__ import annotations

from pydantic import Field

from tracejury.rest.base import Document


class ViewColumn(Document):
    """A column of a view."""

    name: str
    type: str = Field(description="its DuckDB type")
    description: str = Field(default="", description="meaning, unit, and what NULL means")


class View(Document):
    """A view that `POST /api/sql` can read."""

    name: str
    description: str = ""
    columns: list[ViewColumn]
