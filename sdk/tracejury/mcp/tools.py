"""The tools: questions to the service, answered in bounded text."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from mcp.types import TextContent
from pydantic import BaseModel, Field

from tracejury.client import Client
from tracejury.client.runs import RunAsked
from tracejury.errors import ApiError, TracejuryError
from tracejury.mcp import shaping
from tracejury.mcp.parts import TracePart, overview, part_of
from tracejury.rest import PassRate

_EXCERPT = 200
_MOST_ROWS = 99_000

Where = Annotated[
    str | None,
    Field(
        description="a condition in SQL over the columns of the view `traces`, such as "
        '"has_error AND tool_calls > 3"; describe_views lists the columns'
    ),
]
Since = Annotated[
    str | None, Field(description="started then or later: RFC 3339, or 90m, 6h, 2d ago")
]
Until = Annotated[str | None, Field(description="started before: RFC 3339, or 90m ago")]
TraceId = Annotated[str, Field(description="trace id, 32 hex digits")]
Offset = Annotated[int, Field(ge=0, description="where to go on, as the answer before said")]
Evaluators = Annotated[
    list[str] | None, Field(description="names of evaluators, as list_evaluators gives them")
]
Rule = Annotated[str | None, Field(description="name of a rule, in place of evaluators")]
Rate = Annotated[
    float | None, Field(gt=0, le=1, description="share of the traces to judge, at random")
]


class Tools:
    """Tools over the client that `connect` gives, for the one who asks."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect

    def search_traces(
        self,
        where: Where = None,
        project: Annotated[str | None, Field(description="only of this project")] = None,
        service: Annotated[str | None, Field(description="service.name of the agent")] = None,
        session_id: Annotated[str | None, Field(description="session or conversation id")] = None,
        since: Since = None,
        until: Until = None,
        limit: Annotated[int, Field(ge=1, le=100, description="most traces")] = 20,
        cursor: Annotated[str | None, Field(description="`next_cursor` of the page before")] = None,
    ) -> ToolResult:
        """Find traces of agents, newest first; inputs and outputs are excerpts."""
        with self._asking() as client:
            found = client.traces(
                where=where,
                project=project,
                service=service,
                session_id=session_id,
                since=since,
                until=until,
                limit=limit,
                cursor=cursor,
            )
        items = [shaping.cut(_shown(item), _EXCERPT) for item in found.items]
        shown, rest = shaping.page(items, 0)
        hint = f"{len(shown)} traces; get_trace shows one."
        if rest is not None:
            return _answer(
                {"items": shown}, f"{hint} More were found than fit: ask for limit={rest}."
            )
        if found.next_cursor:
            hint += f" There are more: cursor={found.next_cursor!r}."
        return _answer({"items": shown}, hint)

    def get_trace(
        self,
        trace_id: TraceId,
        part: Annotated[
            TracePart, Field(description="what of it; `overview` says what there is")
        ] = "overview",
        offset: Offset = 0,
    ) -> ToolResult:
        """Look at one trace: first the overview, then its parts, item by item."""
        with self._asking() as client:
            trace = client.trace(trace_id)
        if part == "overview":
            return _answer(overview(trace), "Other parts: part=… with offset=…")
        whole = part_of(trace, part)
        if isinstance(whole, str):
            text, more = shaping.excerpt(whole, offset)
            return _answer(text, "That is its end." if more is None else f"More: offset={more}.")
        shown, rest = shaping.page(shaping.present(whole), offset)
        hint = f"{part} {offset} to {offset + len(shown)} of {len(whole)}."
        return _answer(shown, f"{hint} More: offset={rest}." if rest is not None else hint)

    def explain(
        self,
        trace_id: Annotated[str | None, Field(description="of a trace")] = None,
        session_id: Annotated[str | None, Field(description="of a session, instead")] = None,
    ) -> ToolResult:
        """Say why a trace, or a session as a whole, was judged as it was, or was not judged."""
        if (trace_id is None) == (session_id is None):
            raise ToolError("give trace_id or session_id, one of them")
        with self._asking() as client:
            if trace_id is not None:
                lines = (client.explain(trace_id)).lines
            else:
                lines = (client.explain_session(session_id or "")).lines
        return _answer(lines)

    def describe_views(
        self,
        view: Annotated[str | None, Field(description="only this one, with its columns")] = None,
    ) -> ToolResult:
        """List the views that SQL and `where` can use; of one view, the columns."""
        with self._asking() as client:
            views = [item for item in client.views() if view in (None, item.name)]
        if not views:
            raise ToolError(f"there is no view {str(view)[:80]!r}; leave it out to list them")
        if view is None:
            rows = [{"view": item.name, "description": item.description} for item in views]
            return _answer(rows, "describe_views with view=… lists the columns of one.")
        return _answer([_shown(column) for column in views[0].columns])

    def sql(
        self,
        query: Annotated[
            str, Field(description="one SELECT in DuckDB's SQL over the views of describe_views")
        ],
        limit: Annotated[int, Field(ge=1, le=1000, description="most rows")] = 100,
        offset: Annotated[
            int, Field(ge=0, le=_MOST_ROWS, description="rows to pass over; needs an ORDER BY")
        ] = 0,
    ) -> ToolResult:
        """Answer a read-only query. Aggregate in SQL rather than read rows."""
        with self._asking() as client:
            found = client.sql(query, limit=offset + limit)
        rows, rest = shaping.page(found.rows, offset)
        hint = f"Rows {offset} to {offset + len(rows)}."
        if rest is not None:
            hint += f" The rest did not fit: offset={rest}, or ask for less."
        elif found.truncated:
            hint += f" There are more: offset={offset + len(rows)}."
        return _answer({"columns": [column.name for column in found.columns], "rows": rows}, hint)

    def pass_rates(
        self,
        by: Annotated[
            list[Literal["project", "service", "model", "agent", "bucket"]] | None,
            Field(description="what divides the rates besides rule and evaluator"),
        ] = None,
        since: Annotated[str | None, Field(description="decided then or later: 6h, 2d ago")] = None,
        until: Annotated[str | None, Field(description="decided before")] = None,
        bucket: Annotated[str | None, Field(description="length of a bucket: 15m, 1h, 1d")] = None,
        rule: Annotated[str | None, Field(description="only this rule")] = None,
        evaluator: Annotated[str | None, Field(description="only this evaluator")] = None,
        service: Annotated[str | None, Field(description="only this service.name")] = None,
        project: Annotated[str | None, Field(description="only this project")] = None,
        offset: Offset = 0,
    ) -> ToolResult:
        """Estimate how much of the live traffic passes, with 95 % intervals."""
        with self._asking() as client:
            found = client.pass_rates(
                by=by or (),
                since=since,
                until=until,
                bucket=bucket,
                rule=rule,
                evaluator=evaluator,
                service=service,
                project=project,
            )
        shown, rest = shaping.page([_rate(item) for item in found.items], offset)
        hint = f"{len(shown)} of {len(found.items)} rates."
        return _answer(shown, f"{hint} More: offset={rest}." if rest is not None else hint)

    def list_evaluators(self) -> ToolResult:
        """List the evaluators and rules in force, by the names that run_evaluation takes."""
        with self._asking() as client:
            evaluators = client.definitions("evaluator")
            rules = client.definitions("rule")
        kept = {"name", "body", "fault"}
        return _answer(
            {
                "evaluators": [item.model_dump(mode="json", include=kept) for item in evaluators],
                "rules": [item.model_dump(mode="json", include=kept) for item in rules],
            }
        )

    def estimate_evaluation(
        self,
        evaluators: Evaluators = None,
        rule: Rule = None,
        where: Where = None,
        since: Since = None,
        until: Until = None,
        rate: Rate = None,
    ) -> ToolResult:
        """Say what run_evaluation with the same arguments would judge and cost; does nothing."""
        with self._asking() as client:
            estimate = client.estimate_run(**_asked(evaluators, rule, where, since, until, rate))
        return _answer(
            _shown(estimate), f"To do it: run_evaluation with most_judgements={estimate.to_judge}."
        )

    def run_evaluation(
        self,
        most_judgements: Annotated[
            int,
            Field(ge=0, description="begin only if it takes no more; estimate_evaluation tells"),
        ],
        evaluators: Evaluators = None,
        rule: Rule = None,
        where: Where = None,
        since: Since = None,
        until: Until = None,
        rate: Rate = None,
    ) -> ToolResult:
        """Have finished traces of the past judged. It may cost money: estimate it first."""
        asked = _asked(evaluators, rule, where, since, until, rate)
        with self._asking() as client:
            estimate = client.estimate_run(**asked)
            if estimate.to_judge > most_judgements:
                raise ToolError(
                    f"it would take {estimate.to_judge} judgements, and not at most "
                    f"{most_judgements}: nothing was begun; choose less, or allow for more"
                )
            run = client.start_run(**asked)
        return _answer(_shown(run), f"It goes on by itself: get_run with run_id={run.run_id!r}.")

    def get_run(
        self, run_id: Annotated[str, Field(description="as run_evaluation gave it")]
    ) -> ToolResult:
        """Say how far a run of run_evaluation is, and what came of it."""
        with self._asking() as client:
            run = client.run(run_id)
        return _answer(_shown(run))

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Client]:
        """Give the client; what the service refuses may quote data, and is fenced as such."""
        try:
            with self._connect() as client:
                yield client
        except TracejuryError as error:
            excerpt = error.excerpt if isinstance(error, ApiError) else ""
            words = f"{error}\n{excerpt}" if excerpt else str(error)
            raise ToolError(shaping.fenced(shaping.fitted(words))) from error


def _shown(document: BaseModel) -> Any:
    return shaping.present(document.model_dump(mode="json"))


def _rate(rate: PassRate) -> Any:
    """Return a pass rate without the reasons for which nothing was left out."""
    data = rate.model_dump(mode="json")
    reasons = data["excluded"]["reasons"]
    data["excluded"]["reasons"] = {name: part for name, part in reasons.items() if part["count"]}
    return shaping.present(data)


def _answer(data: Any, hint: str = "") -> ToolResult:
    """Return data behind its marks, and what to ask next after them."""
    text = shaping.fenced(shaping.fitted(data))
    return ToolResult(content=[TextContent(type="text", text=f"{text}\n{hint}" if hint else text)])


def _asked(
    evaluators: list[str] | None,
    rule: str | None,
    where: str | None,
    since: str | None,
    until: str | None,
    rate: float | None,
) -> RunAsked:
    return {
        "evaluators": evaluators or [],
        "rule": rule,
        "where": where,
        "since": since,
        "until": until,
        "rate": rate,
    }
