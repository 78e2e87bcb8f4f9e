"""Conditions of rules, evaluated over a batch of targets away from the live database."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from tracejury_collector.errors import ConfigError, SqlRefused
from tracejury_collector.rules import ConditionResult, Rule, TargetKind
from tracejury_collector.store.columns import arrow_table
from tracejury_collector.store.registered import registered
from tracejury_collector.store.rows import COLUMNS
from tracejury_collector.store.session_rows import SESSION_COLUMNS
from tracejury_collector.store.sqlguard import check_expression

_HIDDEN = ("superseded", "root_ended", "upstream_probability")
_ALWAYS = "true"
_LIMIT_S = 2.0
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
    """The checked conditions of the rules in force."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        """Check every condition.

        Raises: ConfigError naming the rule, the fault and the remedy.
        """
        self._connection = duckdb.connect(":memory:")
        for setting in _SETTINGS:
            self._connection.execute(setting)
        self._targets = {rule.name: rule.target for rule in rules}
        self._expressions = {rule.name: self._checked(rule) for rule in rules}

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()

    def evaluate(
        self, facts: pa.Table, target: TargetKind = "trace"
    ) -> dict[str, Mapping[str, ConditionResult]]:
        """Return for each rule on such targets, by name, what its condition says of each id.

        `facts` are rows of `base.traces`, or of the view `sessions` with their `target_id`.
        """
        view = _VIEWS[target]
        ids = [str(key) for key in facts.column(view.key).to_pylist()]
        visible = facts.drop_columns([c for c in _HIDDEN if c in facts.column_names])
        with registered(self._connection, **{view.name: visible}):
            return {
                name: dict.fromkeys(ids, _HOLDS)
                if expression == _ALWAYS
                else self._evaluate(view, expression, ids)
                for name, expression in self._expressions.items()
                if self._targets[name] == target
            }

    def _evaluate(
        self, view: _View, expression: str, ids: Sequence[str]
    ) -> Mapping[str, ConditionResult]:
        try:
            return dict(self._run(f"SELECT {view.key}, ({expression}) FROM {view.name}", []))
        except duckdb.Error as error:
            if isinstance(error, duckdb.InterruptException | duckdb.OutOfMemoryException):
                return dict.fromkeys(ids, _failed(error))
        return {key: self._evaluate_one(view, expression, key) for key in ids}

    def _evaluate_one(self, view: _View, expression: str, key: str) -> ConditionResult:
        sql = (
            f"SELECT {view.key}, ({expression}) "
            f"FROM (SELECT * FROM {view.name} WHERE {view.key} = ?) AS {view.name}"
        )
        try:
            return next(result for _, result in self._run(sql, [key]))
        except duckdb.Error as error:
            return _failed(error)

    def _run(self, sql: str, params: list[str]) -> Iterator[tuple[str, ConditionResult]]:
        with _interrupted_after(self._connection, _LIMIT_S):
            rows = self._connection.execute(sql, params).fetchall()
        return ((key, _HOLDS if holds else _FAILS) for key, holds in rows)

    def _checked(self, rule: Rule) -> str:
        """Return the condition, known to be an allowed expression of type BOOLEAN."""
        if rule.where.strip().lower() == _ALWAYS:
            return _ALWAYS
        where = f"rules.{rule.name}.where"
        view = _VIEWS[rule.target]
        try:
            expression = check_expression(rule.where, view.name)
        except SqlRefused as error:
            raise ConfigError(f"{where}: {rule.where!r} cannot be used: {error}") from error
        with registered(self._connection, **{view.name: arrow_table(view.columns, [])}):
            try:
                sql = f"SELECT ({expression}) FROM {view.name}"
                found = self._connection.execute(sql).description
            except duckdb.Error as error:
                raise ConfigError(f"{where}: {rule.where!r} does not run: {error}") from error
        type_ = str(found[0][1]) if found else ""
        if type_ != "BOOLEAN":
            raise ConfigError(
                f"{where}: {rule.where!r} is {type_}, not true or false; "
                "write a comparison, like has_error or latency_ms > 5000"
            )
        return expression


def _failed(error: duckdb.Error) -> ConditionResult:
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
