"""The SQL door: one read-only SELECT over the stable views."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tracejury.rest import SqlResult
from tracejury_collector.api.accept import preferred
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.config.querying import MAX_ROWS
from tracejury_collector.errors import SqlRefused, UnsupportedMediaType
from tracejury_collector.store.query import QueryResult, run_select
from tracejury_collector.store.watch import STUCK_S

router = APIRouter(tags=["sql"])

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
_LAST_WORDS_S = 0.3
"""How long before the store ends itself its caller is answered."""
_BINARY = {"type": "string", "format": "binary"}
_EXAMPLE: dict[str, JsonValue] = {
    "sql": "SELECT model, sum(cost_usd) AS usd FROM llm_calls WHERE provider = ? GROUP BY model",
    "params": ["openai"],
    "limit": 100,
}


class SqlQuery(BaseModel):
    """One SELECT, its parameters, and the most rows to answer."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    sql: str = Field(min_length=1, max_length=100_000, description="one SELECT")
    params: list[Any] | dict[str, Any] = Field(
        default=[], description="values of ?, or of $name, in order or by name"
    )
    limit: int = Field(default=1000, ge=1, le=MAX_ROWS, description="most rows to answer")


@router.post(
    "/api/sql",
    response_model=SqlResult,
    responses=problems(400, 413, 415, 422, 503)
    | {
        200: {
            "description": "the rows, in the media type that Accept prefers",
            "content": {CSV: {"schema": {"type": "string"}}, ARROW: {"schema": _BINARY}},
        }
    },
)
async def run_query(
    request: Request,
    context: Context,
    query: SqlQuery,
    accept: Annotated[
        str, Header(description=f"what the answer is to be: {JSON}, {CSV} or {ARROW}")
    ] = JSON,
) -> Response:
    """Answer one read-only SELECT over the views: as JSON, CSV or an Arrow stream, by Accept."""
    media_type = preferred(accept, (JSON, CSV, ARROW))
    if media_type is None:
        raise UnsupportedMediaType(
            f"no answer can be given as {accept[:100]!r}; accept {JSON}, {CSV} or {ARROW}"
        )
    answer = partial(_answer, context, query, media_type)
    within_s = context.config.sql.timeout + STUCK_S - _LAST_WORDS_S
    try:
        response: Response = await request.app.state.sql_lane.run(answer, within_s)
    except TimeoutError as error:
        raise SqlRefused(
            "it goes on past its limit, and the store may have to be started again; "
            "do not send it again as it is"
        ) from error
    return response


def _answer(context: ApiContext, query: SqlQuery, media_type: str) -> Response:
    settings = context.config.sql
    result = run_select(
        context.db,
        query.sql,
        query.params,
        min(query.limit, settings.rows),
        limit_s=settings.timeout,
        max_bytes=settings.bytes,
        memory_bytes=settings.memory,
    )
    headers = {"x-truncated": str(result.truncated).lower(), "vary": "accept"}
    return Response(_body(result, media_type), media_type=media_type, headers=headers)


def _body(result: QueryResult, media_type: str) -> bytes:
    if media_type == CSV:
        return result.to_csv().encode("utf-8")
    if media_type == ARROW:
        return result.to_arrow()
    rows = result.rows()
    return orjson.dumps(
        {
            "columns": [{"name": name, "type": kind} for name, kind in result.columns],
            "rows": rows,
            "row_count": len(rows),
            "truncated": result.truncated,
            "elapsed_ms": round(result.elapsed_ms, 3),
        }
    )
