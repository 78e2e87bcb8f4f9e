"""`sql`: a question to the database as an evaluator; the service's store asks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from tracejury.evaluator import Criteria, Evaluator, to_outcome
from tracejury.result import Failure, Outcome, Score, Skip
from tracejury.trace import Trace

UNUSABLE = "UnusableAnswer"


class Sql(Evaluator):
    """Judges many runs at once by one DuckDB SELECT over the views.

    Beside the views the query sees `targets(trace_id, revision)`: the runs to judge. It gives
    `trace_id` and either `score` (a number from 0 to 1) or `passed` (true or false), and if it
    likes `verdict`, `reason`, `hits`, `misses`, `evidence`; rows of other runs are left aside.
    NULL as score is a skip; a run with several rows is a failure. Skipped outside of the service.
    """

    type: ClassVar[str] = "sql"
    label: ClassVar[str] = "SQL"
    aliases: ClassVar[Mapping[str, str]] = {"query": "sql"}

    sql: str = Field(description="one SELECT over the views and `targets`")
    missing: Literal["skip", "fail", "pass"] = Field(
        default="skip", description="what a run is for which the query gives no row"
    )
    threshold: float = Field(default=1.0, ge=0, le=1, description="score from which it passes")

    @field_validator("sql")
    @classmethod
    def _is_not_empty(cls, sql: str) -> str:
        if not sql.strip():
            raise ValueError("the query is empty; write one SELECT")
        return sql

    def evaluate(self, _trace: Trace, _criteria: Criteria) -> Skip:
        return Skip("a sql evaluator asks the service's database, and there is none here")

    def outcome_of(self, rows: Sequence[Mapping[str, Any]]) -> Outcome:
        """What the query's rows about one run say, by the names of their columns."""
        if not rows:
            return self._without_row()
        if len(rows) > 1:
            return Failure(UNUSABLE, "the query gave several rows for this run; GROUP BY trace_id")
        fields = {name: value for name, value in rows[0].items() if name in FIELDS}
        success = fields.pop("passed", None)
        value = fields.pop("score", None)
        if success is None and value is None:
            return Skip(fields.get("reason") or "the query gave NULL for this run")
        if not fields.get("reason"):
            fields["reason"] = _told(success, value)
        try:
            return to_outcome(fields | {"success": success, "score": value}, self.threshold)
        except (TypeError, ValueError) as error:
            return Failure(UNUSABLE, f"what the query gave for this run cannot be used: {error}")

    def _without_row(self) -> Outcome:
        reason = "the query gave no row for this run"
        if self.missing == "skip":
            return Skip(reason)
        value, verdict = (1.0, "pass") if self.missing == "pass" else (0.0, "fail")
        return to_outcome(Score(value, verdict, reason))  # type: ignore[arg-type]  # both are


FIELDS = ("score", "passed", "verdict", "reason", "hits", "misses", "evidence")


def _told(success: bool | None, value: Any) -> str:
    if value is not None:
        return f"the query scored {float(value):g}"
    return f"the query says that it {'passed' if success else 'did not pass'}"


EVALUATORS: tuple[type[Evaluator[Any]], ...] = (Sql,)
