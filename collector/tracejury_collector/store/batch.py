"""Arrow tables on their way into the database."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracejury_collector.errors import MalformedRequest
from tracejury_collector.store.schema import JSON_COLUMNS, SCHEMAS

_JSON = pa.json_(pa.string())
"""Text marked as JSON: DuckDB takes it without parsing it."""


def conform(signal: str, table: pa.Table) -> pa.Table:
    """Return the table with the columns of the signal's schema, in its order and types.

    Text may stay dictionary-encoded.

    Raises: MalformedRequest naming the column that is missing, too many, or of the wrong type.
    """
    schema = SCHEMAS[signal]
    if table.schema.equals(schema) and not any(
        table[field.name].null_count for field in schema if not field.nullable
    ):
        return table
    if sorted(table.column_names) != sorted(schema.names):
        wrong = sorted(set(table.column_names) ^ set(schema.names)) or table.column_names
        raise MalformedRequest(f"{signal}: columns missing, unknown or double: {', '.join(wrong)}")
    columns = []
    for field in schema:
        column = table[field.name]
        if _plain(column.type) != field.type:
            try:
                column = column.cast(field.type)
            except pa.ArrowInvalid as error:
                raise MalformedRequest(f"{signal}.{field.name}: {error}") from error
        if column.null_count and not field.nullable:
            raise MalformedRequest(f"{signal}.{field.name}: {column.null_count} values are missing")
        columns.append(column)
    return pa.table(columns, names=schema.names)


def join(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of conforming tables one after the other."""
    first = tables[0]
    if all(table.schema == first.schema for table in tables):
        return pa.concat_tables(tables)
    shared = pa.schema(
        [
            field
            if all(table.schema.field(field.name).type == field.type for table in tables)
            else field.with_type(_plain(field.type))
            for field in first.schema
        ]
    )
    return pa.concat_tables([table.cast(shared) for table in tables])


def numbered(table: pa.Table, keep: NDArray[np.bool_], first_seq: int, now_ns: int) -> pa.Table:
    """Return the rows to keep, with `seq` from `first_seq` on and `received_at`."""
    if not keep.all():
        table = table.filter(pa.array(keep))
    rows = table.num_rows
    for name in JSON_COLUMNS.intersection(table.column_names):
        if table.schema.field(name).type == pa.string():
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table[name].cast(_JSON))
    table = table.append_column("seq", pa.array(np.arange(first_seq, first_seq + rows)))
    times = np.full(rows, now_ns, dtype="datetime64[ns]")
    return table.append_column("received_at", pa.array(times))


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if isinstance(type_, pa.DictionaryType) else type_
