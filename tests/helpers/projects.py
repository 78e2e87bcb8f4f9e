"""Two projects with everything that can be stored of one; whatever is of `other` names it."""

from __future__ import annotations

from typing import Any

from tests.helpers.api import START_NS, Api, agent_run, record_result

OWN, OTHER = "own-shop", "other-bank"
TRACES = {OWN: 11, OTHER: 12}
SESSION = "chat"
"""An id that both projects use."""


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


def fill(api: Api) -> None:
    """Store a finished trace of each project, with results and labels on it and its session."""
    for number, project in enumerate((OWN, OTHER)):
        api.store(*spans_of(TRACES[project], project))
        shared = {"evaluator": f"{project} check", "reason": f"{project} reason"}
        target = {"trace_id": trace_of(project), "target_id": trace_of(project)}
        at_ns = START_NS + number
        record_result(api, at_ns=at_ns, decision_id=f"{project}-1", **target, **shared)
        session = {"target_kind": "session", "target_id": f"{project}/{SESSION}", "trace_id": ""}
        record_result(api, at_ns=at_ns, decision_id=f"{project}-2", **session, **shared)
        said = {"name": f"{project} label", "value": True}
        labels = [
            {**said, "trace_id": trace_of(project)},
            {**said, "session_id": SESSION, "project": project},
        ]
        for label in labels:
            api.http.post("/api/labels", json=label).raise_for_status()
    api.finish()
