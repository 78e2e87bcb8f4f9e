"""Pairing the items of two lists so that the pairs are as alike as can be."""

from __future__ import annotations

from collections.abc import Sequence

INFINITE = float("inf")


def best_pairs(shares: Sequence[Sequence[float]], columns: int) -> list[int | None]:
    """For each row its column in an assignment of the largest sum; None for rows left over.

    `shares` are in [0, 1]; every row has `columns` of them. Takes time cubic in the longer side.
    Source: Kuhn 1955 and Munkres 1957, in the form with potentials (Jonker and Volgenant 1987).
    """
    rows = len(shares)
    if rows > columns:
        turned = [[shares[row][column] for row in range(rows)] for column in range(columns)]
        partners: list[int | None] = [None] * rows
        for column, row in enumerate(best_pairs(turned, rows)):
            if row is not None:
                partners[row] = column
        return partners
    costs = [[1.0 - share for share in row] for row in shares]
    assignment = _Assignment(costs, columns)
    for row in range(1, rows + 1):
        assignment.place(row)
    return assignment.columns_of_rows()


class _Assignment:
    """Rows placed one by one, at the least cost so far; rows and columns count from 1.

    A reduced cost is that of a cell without the potentials of its row and column; those of
    assigned cells are 0. Column 0 stands for the row that is being placed.
    """

    def __init__(self, costs: Sequence[Sequence[float]], columns: int) -> None:
        self._costs = costs
        self._columns = columns
        self._row_potential = [0.0] * (len(costs) + 1)
        self._column_potential = [0.0] * (columns + 1)
        self._row_of = [0] * (columns + 1)

    def place(self, row: int) -> None:
        """Give the row a column, moving rows placed before along the cheapest path."""
        self._row_of[0] = row
        least = [INFINITE] * (self._columns + 1)
        came_from = [0] * (self._columns + 1)
        seen = [False] * (self._columns + 1)
        column = 0
        while self._row_of[column] or not column:
            seen[column] = True
            column = self._next(column, least, came_from, seen)
        while column:
            self._row_of[column] = self._row_of[came_from[column]]
            column = came_from[column]

    def _next(self, column: int, least: list[float], came_from: list[int], seen: list[bool]) -> int:
        """The unseen column that is nearest; potentials are moved so that it is reached."""
        row = self._row_of[column]
        for other in range(1, self._columns + 1):
            reduced = (
                self._costs[row - 1][other - 1]
                - self._row_potential[row]
                - self._column_potential[other]
            )
            if not seen[other] and reduced < least[other]:
                least[other], came_from[other] = reduced, column
        unseen = [other for other in range(1, self._columns + 1) if not seen[other]]
        nearest = min(unseen, key=least.__getitem__)
        self._move(least[nearest], least, seen)
        return nearest

    def _move(self, step: float, least: list[float], seen: list[bool]) -> None:
        for column, is_seen in enumerate(seen):
            if is_seen:
                self._row_potential[self._row_of[column]] += step
                self._column_potential[column] -= step
            else:
                least[column] -= step

    def columns_of_rows(self) -> list[int | None]:
        """The column of each row, both from 0."""
        found: list[int | None] = [None] * len(self._costs)
        for column in range(1, self._columns + 1):
            if self._row_of[column]:
                found[self._row_of[column] - 1] = column - 1
        return found
