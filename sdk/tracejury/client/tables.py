"""Documents and answers of queries as Arrow tables and DataFrames; pyarrow is optional."""

from __future__ import annotations

import io
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import httpx
import orjson
from pydantic import BaseModel

from tracejury.client.request import Request, send
from tracejury.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

ARROW = "application/vnd.apache.arrow.stream"
_TIMES = ("_time", "_at", "_seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTable:
    """The answer to a query in the types of DuckDB; `truncated` says that there are more rows."""

    table: pyarrow.Table
    truncated: bool

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as an Arrow table."""
        return self.table

    def to_df(self) -> pandas.DataFrame:
        """Return the rows as a DataFrame of pandas."""
        return pandas_of(self.table)

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a DataFrame of polars."""
        return polars_of(self.table)


def sql_table(response: httpx.Response) -> SqlTable:
    """Read a query's answer that is an Arrow stream.

    Raises: MissingExtraError
    """
    _needed("pyarrow", "sql_table()")
    with import_module("pyarrow.ipc").open_stream(io.BytesIO(response.content)) as reader:
        table = reader.read_all()
    return SqlTable(table=table, truncated=response.headers.get("x-truncated") == "true")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlDocument:
    """The answer to a query as it was sent; `truncated` says that there are more rows."""

    content: bytes
    truncated: bool


def sql_document(query: str, limit: int, media_type: str) -> Request[SqlDocument]:
    """Return the request for the rows of a query in a media type."""
    return send(
        "POST",
        "/api/sql",
        lambda response: SqlDocument(
            content=response.content, truncated=response.headers.get("x-truncated") == "true"
        ),
        {"sql": query, "params": [], "limit": limit},
        headers={"accept": media_type},
        repeat="if_refused",
    )


def parquet_of(stream: bytes) -> bytes:
    """Return an Arrow IPC stream as a Parquet file.

    Raises: MissingExtraError
    """
    arrow = _needed("pyarrow", "Parquet")
    out = io.BytesIO()
    with import_module("pyarrow.ipc").open_stream(io.BytesIO(stream)) as reader:
        table: pyarrow.Table = arrow.Table.from_batches(reader, schema=reader.schema)
    import_module("pyarrow.parquet").write_table(table, out, compression="zstd")
    return out.getvalue()


def arrow_of(model: type[BaseModel], documents: Iterable[BaseModel]) -> pyarrow.Table:
    """Return documents as a table: a row each, a column for each field of `model`.

    Times are timestamps in UTC with nanoseconds; what is nested, or of any type, is JSON text.

    Raises: MissingExtraError
    """
    arrow = _needed("pyarrow", "to_arrow()")
    rows = [document.model_dump(mode="json") for document in documents]
    columns = {name: _column(arrow, name, model, rows) for name in model.model_fields}
    table: pyarrow.Table = arrow.table(columns)
    return table


def pandas_of(table: pyarrow.Table) -> pandas.DataFrame:
    """Return a table as a DataFrame of pandas.

    Raises: MissingExtraError
    """
    _needed("pandas", "to_df()")
    return table.to_pandas()


def polars_of(table: pyarrow.Table) -> polars.DataFrame:
    """Return a table as a DataFrame of polars.

    Raises: MissingExtraError
    """
    found: polars.DataFrame = _needed("polars", "to_polars()").from_arrow(table)
    return found


def _column(arrow: Any, name: str, model: type[BaseModel], rows: Sequence[dict[str, Any]]) -> Any:
    """Return one field of all rows as an Arrow array."""
    values = [row[name] for row in rows]
    kind = _kind(model.model_fields[name].annotation)
    if kind == "text" and name.endswith(_TIMES):
        text = arrow.array([value or None for value in values], arrow.string())
        return text.cast(arrow.timestamp("ns", "UTC"))
    if kind == "json":
        values = [None if value is None else orjson.dumps(value).decode() for value in values]
    return arrow.array(values, _types(arrow)[kind])


Kind = Literal["text", "float", "int", "bool", "texts", "json"]
_KINDS: dict[object, Kind] = {str: "text", float: "float", int: "int", bool: "bool"}


def _types(arrow: Any) -> dict[Kind, Any]:
    return {
        "text": arrow.string(),
        "json": arrow.string(),
        "float": arrow.float64(),
        "int": arrow.int64(),
        "bool": arrow.bool_(),
        "texts": arrow.list_(arrow.string()),
    }


def _kind(annotation: object) -> Kind:
    """Return what a field's values are, whether or not they may be null."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [part for part in typing.get_args(annotation) if part is not types.NoneType]
        return _kind(rest[0]) if len(rest) == 1 else "json"
    if origin is Literal:
        kinds = {_KINDS.get(type(value), "json") for value in typing.get_args(annotation)}
        return kinds.pop() if len(kinds) == 1 else "json"
    if annotation == list[str]:
        return "texts"
    return _KINDS.get(annotation, "json")


def _needed(module: str, what: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        install = "'tracejury[arrow]'" if module == "pyarrow" else f"{module} pyarrow"
        raise MissingExtraError(f"{what} needs {module}: pip install {install}") from error
