"""The whole story of a trace: is it finished, what did each rule decide, what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracejury_collector.completion import (
    Completion,
    CompletionPolicy,
    Reception,
    Waiting,
    decide,
)
from tracejury_collector.errors import NotFound
from tracejury_collector.store.database import Database
from tracejury_collector.store.reads import decisions_of_trace, results_of_trace
from tracejury_collector.store.revisions import Earlier, OpenTrace, open_trace

Row = dict[str, Any]

_COMPLETED = {
    "marker": "its marker arrived",
    "root_ended": "its root ended and it fell quiet",
    "idle": "nothing arrived any more",
    "max_age": "it reached the greatest age",
}
_SHOWN = ("outcome", "score", "verdict", "reason", "error_type", "error_message", "superseded")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What the database knows of a trace, and whether it is finished."""

    opened: OpenTrace | None
    state: Completion | Waiting | None
    revisions: Sequence[Row]
    decisions: Sequence[Row]


def explain(
    db: Database, trace_id: str, *, policy: CompletionPolicy, reception: Reception, now_ns: int
) -> dict[str, Any]:
    """Return the story in words (`lines`) and as data.

    Raises: NotFound for a trace that never arrived.
    """
    revisions = db.rows("revisions_of_trace", {"trace_id": trace_id})
    opened = _opened(db, trace_id, revisions)
    if not revisions and opened is None:
        raise NotFound(f"no trace has the id {trace_id!r}; ids are 32 hex digits")
    state = decide(opened.activity, policy, now_ns, reception) if opened else None
    facts = _Facts(
        opened=opened, state=state, revisions=revisions, decisions=_decisions(db, trace_id)
    )
    return {
        "trace_id": trace_id,
        "status": "open" if opened else "complete",
        "lines": [*_completion_lines(facts), *_decision_lines(facts)],
        "completion": _completion(facts),
        "revisions": revisions,
        "decisions": list(facts.decisions),
    }


def _opened(db: Database, trace_id: str, revisions: Sequence[Row]) -> OpenTrace | None:
    rows = db.rows("open_trace", {"trace_id": trace_id})
    if not rows:
        return None
    earlier = None
    if revisions:
        newest = revisions[0]
        keys = ("revision", "first_seq", "last_seq", "root_ended", "completed_at_ns")
        earlier = Earlier(trace_id=trace_id, **{key: newest[key] for key in keys})
    return open_trace(list(rows[0].values()), earlier)


def _decisions(db: Database, trace_id: str) -> list[Row]:
    """Return the decisions, each with what its evaluators did."""
    results = {(r["decision_id"], r["evaluator"]): r for r in results_of_trace(db, trace_id)}
    attempts = {
        (row["decision_id"], row["evaluator"]): row["attempts"]
        for row in db.rows("attempts_of_trace", {"trace_id": trace_id})
    }
    found = []
    for decision in decisions_of_trace(db, trace_id):
        keys = [(decision["decision_id"], name) for name in decision["evaluators"]]
        evaluators = [_evaluator(key, results.get(key), attempts.get(key, 0)) for key in keys]
        found.append({**decision, "evaluators": evaluators})
    return found


def _evaluator(key: tuple[str, str], result: Row | None, attempts: int) -> Row:
    data: Row = {"evaluator": key[1], "attempts": attempts, "state": "done"}
    if result is None:
        return {**data, "state": "running" if attempts else "queued"}
    return data | {name: result[name] for name in _SHOWN}


def _completion(facts: _Facts) -> Row:
    """Return the state of completion as data."""
    data: Row = {"finished": facts.opened is None, "revision": 0, "completed_by": None}
    if facts.revisions:
        newest = facts.revisions[0]
        data |= {"revision": newest["revision"], "completed_by": newest["completed_by"]}
    if facts.opened:
        activity = facts.opened.activity
        data |= {
            "span_count": activity.span_count,
            "root_seen": activity.root_seen,
            "root_ended": activity.root_ended,
            "last_seen_ns": activity.last_seen_ns,
        }
    if isinstance(facts.state, Waiting):
        data |= {"reason": facts.state.reason, "due_ns": facts.state.due_ns}
    return data


def _completion_lines(facts: _Facts) -> Iterator[str]:
    if isinstance(facts.state, Waiting):
        yield f"not finished yet: {facts.state.reason}"
    elif facts.state:
        yield f"about to be finished: {_COMPLETED[facts.state.completed_by]}"
    for revision in facts.revisions:
        spans = revision["span_count"]
        yield (
            f"revision {revision['revision']}{' (superseded)' if revision['superseded'] else ''}: "
            f"finished because {_COMPLETED[revision['completed_by']]}, "
            f"{spans} {'span' if spans == 1 else 'spans'}"
            f"{'' if revision['has_root'] else ', without a root'}"
        )


def _decision_lines(facts: _Facts) -> Iterator[str]:
    if facts.revisions and not facts.decisions:
        yield "no rule was in force when it was finished"
    for decision in facts.decisions:
        outcome = decision["outcome"].replace("_", " ")
        yield (
            f"rule {decision['rule']!r} on revision {decision['revision']}: "
            f"{outcome}, {decision['reason']}"
        )
        yield from (f"  {_evaluator_line(e)}" for e in decision["evaluators"])


def _evaluator_line(evaluator: Mapping[str, Any]) -> str:
    name = evaluator["evaluator"]
    if evaluator["state"] == "queued":
        return f"{name}: waits for the jury"
    if evaluator["state"] == "running":
        return f"{name}: with the jury, attempt {evaluator['attempts']}"
    old = " (superseded)" if evaluator["superseded"] else ""
    if evaluator["outcome"] == "score":
        said = f"{evaluator['verdict'] or 'score'} {evaluator['score']:g}"
        return f"{name}{old}: {said}{_because(evaluator['reason'])}"
    if evaluator["outcome"] == "skip":
        return f"{name}{old}: skipped{_because(evaluator['reason'])}"
    return f"{name}{old}: failed with {evaluator['error_type']}{_because(evaluator['reason'])}"


def _because(reason: str) -> str:
    return f", {reason}" if reason else ""
