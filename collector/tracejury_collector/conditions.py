"""Conditions of rules, evaluated over a batch of targets away from the live database."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from tracejury_collector.errors import ConfigError, SqlRefused
from tracejury_collector.rules import Checks, ConditionResult, Rule, TargetKind
from tracejury_collector.store.columns import arrow_table
from tracejury_collector.store.registered import registered
from tracejury_collector.store.rows import COLUMNS
from tracejury_collector.store.session_rows import SESSION_COLUMNS
from tracejury_collector.store.sqlguard import check_expression

_HIDDEN = ("superseded", "root_ended", "upstream_probability")
_ALWAYS = "true"
_LIMIT_S = 2.0
"""For all conditions of a rule on one batch, tried together; as long again, tried alone."""
_LEAST_S = 0.1
_SETTINGS = (
    "SET temp_directory = ''",
    "SET threads = 1",
    "SET memory_limit = '128MB'",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_HOLDS = ConditionResult(holds=True)
_FAILS = ConditionResult(holds=False)
_ALL_HOLD = Checks(where=_HOLDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What a condition is over: a view by its name and columns; `key` tells the targets apart."""

    name: str
    key: str
    columns: Mapping[str, pa.DataType]


_VIEWS: Mapping[TargetKind, _View] = {
    "trace": _View(
        name="traces",
        key="trace_id",
        columns={k: v for k, v in COLUMNS["traces"].items() if k not in _HIDDEN},
    ),
    "session": _View(name="sessions", key="target_id", columns=SESSION_COLUMNS),
}


class Conditions:
    """The checked conditions of the rules in force, and of their strata."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        """Check every condition.

        Raises: ConfigError naming the rule, the fault and the remedy.
        """
        self._connection = duckdb.connect(":memory:")
        for setting in _SETTINGS:
            self._connection.execute(setting)
        self._rules = {
            rule.name: (rule.target, tuple(self._of(rule, _VIEWS[rule.target]))) for rule in rules
        }

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()

    def evaluate(
        self, facts: pa.Table, target: TargetKind = "trace"
    ) -> dict[str, Mapping[str, Checks]]:
        """Return for each rule on such targets, by name, what its conditions say of each id.

        `facts` are rows of `base.traces`, or of the view `sessions` with their `target_id`.
        """
        view = _VIEWS[target]
        ids = [str(key) for key in facts.column(view.key).to_pylist()]
        wanted = {name: of for name, (kind, of) in self._rules.items() if kind == target}
        if all(expressions == (_ALWAYS,) for expressions in wanted.values()):
            return {name: dict.fromkeys(ids, _ALL_HOLD) for name in wanted}
        visible = facts.drop_columns([c for c in _HIDDEN if c in facts.column_names])
        with registered(self._connection, **{view.name: visible}):
            return {
                name: dict.fromkeys(ids, _ALL_HOLD)
                if expressions == (_ALWAYS,)
                else self._checks(view, expressions, ids)
                for name, expressions in wanted.items()
            }

    def _checks(
        self, view: _View, expressions: Sequence[str], ids: Sequence[str]
    ) -> Mapping[str, Checks]:
        """Return what a rule's conditions say: tried together, each alone where one fails."""
        found = self._together(view, expressions)
        if found is None:
            deadline_s = time.monotonic() + _LIMIT_S
            alone = [self._alone(view, e, ids, deadline_s) for e in expressions]
            found = {key: [of_one[key] for of_one in alone] for key in ids}
        return {
            key: Checks(where=results[0], strata=tuple(results[1:]))
            for key, results in found.items()
        }

    def _together(
        self, view: _View, expressions: Sequence[str]
    ) -> dict[str, list[ConditionResult]] | None:
        """Return what each expression says of each target; None if one of them fails."""
        columns = ", ".join(f"({expression})" for expression in expressions)
        try:
            rows = self._run(f"SELECT {view.key}, {columns} FROM {view.name}", [], _LIMIT_S)
        except duckdb.Error:
            return None
        return {row[0]: [_HOLDS if holds else _FAILS for holds in row[1:]] for row in rows}

    def _alone(
        self, view: _View, expression: str, ids: Sequence[str], deadline_s: float
    ) -> Mapping[str, ConditionResult]:
        """Return what one expression says of each target; it fails only where it must."""
        sql = f"SELECT {view.key}, ({expression}) FROM {view.name}"
        try:
            rows = self._run(sql, [], _left_s(deadline_s))
        except duckdb.Error:
            return {key: self._of_one(view, expression, key, deadline_s) for key in ids}
        return {key: _HOLDS if holds else _FAILS for key, holds in rows}

    def _of_one(self, view: _View, expression: str, key: str, deadline_s: float) -> ConditionResult:
        sql = (
            f"SELECT {view.key}, ({expression}) "
            f"FROM (SELECT * FROM {view.name} WHERE {view.key} = ?) AS {view.name}"
        )
        try:
            ((_, holds),) = self._run(sql, [key], _left_s(deadline_s))
        except duckdb.Error as error:
            return _failed(error)
        return _HOLDS if holds else _FAILS

    def _run(self, sql: str, params: list[str], limit_s: float) -> list[tuple[Any, ...]]:
        with _interrupted_after(self._connection, limit_s):
            return self._connection.execute(sql, params).fetchall()

    def _of(self, rule: Rule, view: _View) -> Iterator[str]:
        """Yield the rule's condition, then those of its strata."""
        yield self._checked(f"rules.{rule.name}.where", rule.where, view)
        for stratum in rule.strata:
            yield self._checked(stratum.path, stratum.where, view)

    def _checked(self, path: str, where: str, view: _View) -> str:
        """Return the condition, known to be an allowed expression of type BOOLEAN."""
        if where.strip().lower() == _ALWAYS:
            return _ALWAYS
        try:
            expression = check_expression(where, view.name)
        except SqlRefused as error:
            raise ConfigError(f"{path}: {where!r} cannot be used: {error}") from error
        with registered(self._connection, **{view.name: arrow_table(view.columns, [])}):
            try:
                sql = f"SELECT ({expression}) FROM {view.name}"
                found = self._connection.execute(sql).description
            except duckdb.Error as error:
                raise ConfigError(f"{path}: {where!r} does not run: {error}") from error
        type_ = str(found[0][1]) if found else ""
        if type_ != "BOOLEAN":
            raise ConfigError(
                f"{path}: {where!r} is {type_}, not true or false; "
                "write a comparison, like has_error or latency_ms > 5000"
            )
        return expression


def _left_s(deadline_s: float) -> float:
    """Return the time until the deadline; after it every target still has a little of its own."""
    return max(deadline_s - time.monotonic(), _LEAST_S)


def _failed(error: duckdb.Error) -> ConditionResult:
    if isinstance(error, duckdb.InterruptException):
        return ConditionResult(
            holds=False, error=f"it runs too long: {_LIMIT_S:g} s are for a batch; simplify it"
        )
    lines = str(error).splitlines()
    return ConditionResult(holds=False, error=lines[0][:500] if lines else type(error).__name__)


@contextmanager
def _interrupted_after(connection: duckdb.DuckDBPyConnection, limit_s: float) -> Iterator[None]:
    timer = threading.Timer(limit_s, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
