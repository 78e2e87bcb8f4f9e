"""Two projects with everything that can be stored of one; whatever is of `other` names it."""

from __future__ import annotations

from typing import Any

import duckdb

from tests.helpers.api import START_NS, Api, agent_run, record_result

OWN, OTHER = "own-shop", "other-bank"
TRACES = {OWN: 11, OTHER: 12}
SESSION = "chat"
"""An id that both projects use."""
MIXED = f"{13:032x}"
"""A trace of the own project into which spans of the other one were sent."""
MIXED_SESSION = "mixed"


def spans_of(number: int, project: str, session: str = SESSION) -> list[dict[str, Any]]:
    """Return the spans of a run that tell its project wherever a text can stand."""

    def told(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return value.replace("trains", f"{project} text").replace(f"session-{number % 2}", session)

    rows = agent_run(number, service=f"{project} service")
    return [{**{k: told(v) for k, v in row.items()}, "project": project} for row in rows]


def trace_of(project: str) -> str:
    """Return the id of the project's trace."""
    return f"{TRACES[project]:032x}"


def judge(api: Api, trace_id: str, session: str, word: str) -> None:
    """Store a result on a trace, and on the session that is this trace."""

    def write(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(
            "INSERT INTO base.session_revisions SELECT $target, 1, 'p', 's', 1, "
            "[{trace_id: $trace, revision: 1, first_seq: 0, last_seq: 0}], 0, 0, "
            "make_timestamp_ns($at), false",
            {"target": session, "trace": trace_id, "at": START_NS},
        )

    api.context.db.write(write).result(10)
    row: dict[str, Any] = {"evaluator": f"{word} check", "reason": f"{word} reason"}
    of_trace: dict[str, Any] = {"trace_id": trace_id, "target_id": trace_id}
    record_result(api, decision_id=f"{session}-1", **row, **of_trace)
    row |= {"target_kind": "session", "target_id": session, "trace_id": ""}
    record_result(api, decision_id=f"{session}-2", **row)


def mix(api: Api) -> None:
    """Store a finished trace with spans of both projects, in a session, with results on both."""
    root, tool = spans_of(13, OWN, MIXED_SESSION), spans_of(13, OTHER, MIXED_SESSION)
    api.store(root[0], tool[1])
    api.finish()
    judge(api, MIXED, f"{OWN}/{MIXED_SESSION}", OTHER)
    label = {"name": f"{OTHER} label", "value": True, "trace_id": MIXED}
    api.http.post("/api/labels", json=label).raise_for_status()


def fill(api: Api) -> None:
    """Store a finished trace of each project, with results and labels on it and its session."""
    for project in (OWN, OTHER):
        api.store(*spans_of(TRACES[project], project))
        judge(api, trace_of(project), f"{project}/{SESSION}", project)
        said = {"name": f"{project} label", "value": True}
        labels = [
            {**said, "trace_id": trace_of(project)},
            {**said, "session_id": SESSION, "project": project},
        ]
        for label in labels:
            api.http.post("/api/labels", json=label).raise_for_status()
    api.finish()
