"""What receivers have kept in their journal, read for the database from where it lies."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from tracejury_collector.entries import Entry, unpack
from tracejury_collector.errors import MalformedRequest
from tracejury_collector.store.schema import SCHEMAS

_ALIGNED = pa.ipc.IpcReadOptions(  # newer than the stubs
    ensure_alignment=pa.ipc.Alignment.DataTypeSpecific,  # type: ignore[call-arg, attr-defined]
)


@dataclass(frozen=True, slots=True)
class Places:
    """A file of the journal, and from where to where in it entries lie.

    Its `inode` tells it from another one that has got its name.
    """

    file: Annotated[str, Field(pattern=r"^[^/]+$")]
    inode: int
    ranges: Sequence[tuple[int, int]]


def read_batch(folder: Path, signal: str, batch: Sequence[Places], rows: int) -> pa.Table:
    """Return the rows of all entries in the places, in one piece.

    Raises: MalformedRequest, pa.ArrowException where they cannot be had, now or later; OSError,
    MemoryError.
    """
    tables = [_table(signal, entry) for entry in _entries(folder, batch)]
    if sum(table.num_rows for table in tables) != rows:
        raise MalformedRequest(f"{rows} rows were announced, others are in the journal")
    return pa.concat_tables(tables).combine_chunks() if len(tables) > 1 else tables[0]


def _entries(folder: Path, batch: Sequence[Places]) -> Iterator[Entry]:
    for places in batch:
        try:
            with (folder / places.file).open("rb") as segment:
                if os.fstat(segment.fileno()).st_ino != places.inode:
                    raise FileNotFoundError
                for start, end in places.ranges:
                    segment.seek(start)
                    yield from _whole(segment.read(end - start), places.file, start, end)
        except FileNotFoundError as error:
            raise MalformedRequest(f"{places.file} is not in the journal any more") from error
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise MalformedRequest(f"{places.file} cannot be read: {error}") from error


def _whole(data: bytes, file: str, start: int, end: int) -> Iterator[Entry]:
    read = 0
    for found in unpack(memoryview(data)):
        yield found.entry
        read = found.end
    if read < end - start:
        raise MalformedRequest(f"{file} cannot be read from byte {start + read} on")


def _table(signal: str, entry: Entry) -> pa.Table:
    """Return the rows with the columns of today: another version may have written them."""
    try:
        table = pa.ipc.open_stream(pa.py_buffer(entry.payload), options=_ALIGNED).read_all()
    except OSError as error:  # what Arrow calls a stream that ends too soon
        raise MalformedRequest(f"rows that cannot be read: {error}") from error
    schema = SCHEMAS[signal]
    if table.schema.equals(schema):
        return table
    columns = [
        table[field.name]
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    if [column.type for column in columns] == schema.types:
        return pa.Table.from_arrays(columns, schema=schema)
    return pa.Table.from_arrays(columns, names=schema.names)
