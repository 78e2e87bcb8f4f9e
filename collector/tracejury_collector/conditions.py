"""Conditions of rules, evaluated over a batch of traces away from the live database."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from tracejury_collector.errors import ConfigError, SqlRefused
from tracejury_collector.rules import ConditionResult, Rule
from tracejury_collector.store.columns import arrow_table
from tracejury_collector.store.registered import registered
from tracejury_collector.store.rows import COLUMNS
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


class Conditions:
    """The checked conditions of the rules in force."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        """Check every condition.

        Raises: ConfigError naming the rule, the fault and the remedy.
        """
        self._connection = duckdb.connect(":memory:")
        for setting in _SETTINGS:
            self._connection.execute(setting)
        self._expressions = {rule.name: self._checked(rule) for rule in rules}

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()

    def evaluate(self, traces: pa.Table) -> dict[str, Mapping[str, ConditionResult]]:
        """Return for each rule by name what its condition says of each trace id.

        `traces` has the columns of `base.traces`.
        """
        ids = [str(trace_id) for trace_id in traces.column("trace_id").to_pylist()]
        visible = traces.drop_columns([c for c in _HIDDEN if c in traces.column_names])
        with registered(self._connection, traces=visible):
            return {
                name: dict.fromkeys(ids, _HOLDS)
                if expression == _ALWAYS
                else self._evaluate(expression, ids)
                for name, expression in self._expressions.items()
            }

    def _evaluate(self, expression: str, ids: Sequence[str]) -> Mapping[str, ConditionResult]:
        try:
            return dict(self._run(f"SELECT trace_id, ({expression}) FROM traces", []))
        except duckdb.Error as error:
            if isinstance(error, duckdb.InterruptException | duckdb.OutOfMemoryException):
                return dict.fromkeys(ids, _failed(error))
        return {trace_id: self._evaluate_one(expression, trace_id) for trace_id in ids}

    def _evaluate_one(self, expression: str, trace_id: str) -> ConditionResult:
        sql = (
            f"SELECT trace_id, ({expression}) "
            "FROM (SELECT * FROM traces WHERE trace_id = ?) AS traces"
        )
        try:
            return next(result for _, result in self._run(sql, [trace_id]))
        except duckdb.Error as error:
            return _failed(error)

    def _run(self, sql: str, params: list[str]) -> Iterator[tuple[str, ConditionResult]]:
        with _interrupted_after(self._connection, _LIMIT_S):
            rows = self._connection.execute(sql, params).fetchall()
        return ((trace_id, _HOLDS if holds else _FAILS) for trace_id, holds in rows)

    def _checked(self, rule: Rule) -> str:
        """Return the condition, known to be an allowed expression of type BOOLEAN."""
        if rule.where.strip().lower() == _ALWAYS:
            return _ALWAYS
        where = f"rules.{rule.name}.where"
        try:
            expression = check_expression(rule.where, "traces")
        except SqlRefused as error:
            raise ConfigError(f"{where}: {rule.where!r} cannot be used: {error}") from error
        columns = {k: v for k, v in COLUMNS["traces"].items() if k not in _HIDDEN}
        with registered(self._connection, traces=arrow_table(columns, [])):
            try:
                found = self._connection.execute(f"SELECT ({expression}) FROM traces").description
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
