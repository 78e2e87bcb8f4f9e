"""The types of evaluators that a configuration can name, and which plugins brought them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from tracejury.rest import EvaluatorType, Page
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.jury.catalog import DescribedType

router = APIRouter(tags=["evaluators"])


class NoQuery(BaseModel):
    """No parameters; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")


@router.get("/api/evaluator-types", responses=problems(422))
def list_evaluator_types(
    context: Context, _query: Annotated[NoQuery, Query()]
) -> Page[EvaluatorType]:
    """List all types of evaluators: those built in, then those of plugins as registered."""
    return Page(items=[_row(row) for row in context.evaluator_types])


@router.get("/api/plugins", responses=problems(422))
def list_plugins(context: Context, _query: Annotated[NoQuery, Query()]) -> Page[EvaluatorType]:
    """List the types of evaluators that plugins brought, with the plugin of each."""
    return Page(items=[_row(row) for row in context.evaluator_types if row.plugin])


def _row(row: DescribedType) -> EvaluatorType:
    return EvaluatorType(
        type=row.type,
        label=row.label,
        description=row.description,
        config_schema=row.config_schema,
        criteria_schema=row.criteria_schema,
        builtin=row.builtin,
        origin=row.plugin.kind if row.plugin else "built_in",
        plugin=row.plugin.name if row.plugin else None,
    )
