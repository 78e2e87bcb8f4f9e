"""Which traces were finished before, from memory where the answer is no."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from tracejury_collector.store.statements import statement

_Keys = NDArray[np.uint64]

_BITS: Final = 1 << 27
"""16 MiB; of eight million traces, one new id in a thousand passes for one of them."""
_MARKS: Final = 4
"""Bits of one trace."""
_RENEWED_AT_LEAST: Final = 4_000_000
"""Traces noted until those that were deleted since are forgotten."""
_PLAIN = re.compile(r"[0-9a-f]{32}")


class FinishedIds:
    """A Bloom filter over the ids of traces that have a revision.

    A no is certain, since every trace is noted before its revision is committed; a yes is to be
    looked up. Until the history was read everything is a yes. One thread notes and renews.
    """

    def __init__(self) -> None:
        self._bits = np.zeros(0, dtype=np.uint8)
        self._noted = 0
        self._renew_at = 0

    def among(self, trace_ids: Sequence[str]) -> list[str]:
        """Return those of the ids that may have a revision."""
        bits = self._bits
        if not bits.size or not trace_ids:
            return list(trace_ids)
        held = _held(bits, _keys(trace_ids))
        return [
            trace_id
            for trace_id, is_held in zip(trace_ids, held, strict=True)
            if is_held or not _PLAIN.fullmatch(trace_id)
        ]

    def note(self, trace_ids: Sequence[str]) -> None:
        """Take in traces whose first or next revision is about to be written."""
        if self._bits.size:
            _mark(self._bits, _keys(trace_ids))
            self._noted += len(trace_ids)

    def renew(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Read the history where it was not read yet, or so much was noted that it may hold less.

        Raises: duckdb.Error; then everything stays as it was.
        """
        if self._noted < self._renew_at:
            return
        bits, noted = np.zeros(_BITS >> 3, dtype=np.uint8), 0
        for batch in cursor.execute(statement("keys_of_traces")).to_arrow_reader(100_000):
            _mark(bits, batch.column(0).to_numpy())
            noted += batch.num_rows
        self._bits, self._noted = bits, noted
        self._renew_at = max(2 * noted, _RENEWED_AT_LEAST)


def _keys(trace_ids: Iterable[str]) -> _Keys:
    """Return what `base.id_key` is of ids in 32 hex digits, 0 of any other."""
    keys = (int(found[0][16:], 16) if (found := _PLAIN.fullmatch(i)) else 0 for i in trace_ids)
    return np.fromiter(keys, dtype=np.uint64)


def _places(keys: _Keys) -> _Keys:
    """Return the bits of each key, a row for each of its marks.

    Source: Kirsch and Mitzenmacher, "Less hashing, same performance"; mixed by splitmix64.
    """
    mixed = keys * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(29)
    step = (mixed >> np.uint64(32)) | np.uint64(1)
    marks = np.arange(_MARKS, dtype=np.uint64)[:, np.newaxis]
    return (mixed + marks * step) % np.uint64(_BITS)


def _mark(bits: NDArray[np.uint8], keys: _Keys) -> None:
    """Set the bits of the keys: bit by bit, since numpy sets the same byte once in one go."""
    places = _places(keys).ravel()
    for bit in range(8):
        bits[places[places & np.uint64(7) == bit] >> np.uint64(3)] |= np.uint8(1 << bit)


def _held(bits: NDArray[np.uint8], keys: _Keys) -> list[bool]:
    places = _places(keys)
    shifted = bits[places >> np.uint64(3)] >> (places & np.uint64(7)).astype(np.uint8)
    held: list[bool] = (shifted & np.uint8(1)).all(axis=0).tolist()
    return held
