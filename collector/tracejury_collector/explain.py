"""The whole story of a trace: is it finished, what did each rule decide, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import duckdb
import orjson

from tracejury_collector.completion import (
    Completion,
    CompletionPolicy,
    Reception,
    Waiting,
    decide,
)
from tracejury_collector.errors import NotFound
from tracejury_collector.rules import Rule
from tracejury_collector.store.about import Judged, decisions_on, results_on
from tracejury_collector.store.database import Database
from tracejury_collector.store.labels import labels_of_trace
from tracejury_collector.store.revisions import Earlier, OpenTrace, open_trace
from tracejury_collector.store.statements import Row, read_rows

Version = Literal["current", "former", "removed"]
_VERSIONS = {"former": "by a former version", "removed": "since removed"}

_COMPLETED = {
    "marker": "its marker arrived",
    "root_ended": "its root ended and it fell quiet",
    "idle": "nothing arrived any more",
    "max_age": "it reached the greatest age",
}
_CLOCK_STEP_NS = 3600 * 1_000_000_000
"""How far a clock may have been set between a decision, its attempts and its results."""
_SHOWN = ("outcome", "score", "verdict", "reason", "error_type", "error_message", "superseded")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What the database knows of a trace, and whether it is finished."""

    opened: OpenTrace | None
    state: Completion | Waiting | None
    revisions: Sequence[Row]
    decisions: Sequence[Row]
    rules: Mapping[str, Rule]

    @property
    def current(self) -> int:
        """The number of the newest revision, 0 without one."""
        return int(self.revisions[0]["revision"]) if self.revisions else 0


def explain(
    db: Database,
    trace_id: str,
    *,
    policy: CompletionPolicy,
    reception: Reception,
    now_ns: int,
    rules: Sequence[Rule] = (),
    obstacle: Callable[[str], str] = lambda _: "",
    identities: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the story in words (`lines`) and as data; `rules` are those in force now.

    `obstacle` says by an evaluator's name what keeps it from judging now, "" if nothing does;
    `identities` are those of the evaluators in force by name, None to compare with none.
    Raises: NotFound for a trace that never arrived.
    """
    with db.read_as_one() as cursor:
        revisions = read_rows(cursor, "revisions_of_trace", {"trace_id": trace_id})
        opened = _opened(cursor, trace_id, revisions)
        if not revisions and opened is None:
            raise NotFound(f"no trace has the id {trace_id[:100]!r}; ids are 32 hex digits")
        decisions = decisions_of(cursor, _target(trace_id, revisions), obstacle, identities)
        labels = labels_of_trace(cursor, trace_id)
    state = decide(opened.activity, policy, now_ns, reception) if opened else None
    facts = _Facts(
        opened=opened,
        state=state,
        revisions=revisions,
        decisions=decisions,
        rules={rule.name: rule for rule in rules},
    )
    return {
        "trace_id": trace_id,
        "status": "open" if opened else "complete",
        "lines": [
            *_completion_lines(facts),
            *decision_lines(facts.decisions, facts.rules, facts.current),
            *map(label_line, labels),
        ],
        "completion": _completion(facts),
        "revisions": revisions,
        "decisions": list(facts.decisions),
        "labels": labels,
    }


def _opened(
    cursor: duckdb.DuckDBPyConnection, trace_id: str, revisions: Sequence[Row]
) -> OpenTrace | None:
    rows = read_rows(cursor, "open_trace", {"trace_id": trace_id})
    if not rows:
        return None
    earlier = None
    if revisions:
        newest = revisions[0]
        keys = ("revision", "first_seq", "last_seq", "root_ended", "completed_at_ns")
        earlier = Earlier(trace_id=trace_id, **{key: newest[key] for key in keys})
    return open_trace(list(rows[0].values()), earlier)


def decisions_of(
    cursor: duckdb.DuckDBPyConnection,
    target: Judged,
    obstacle: Callable[[str], str],
    identities: Mapping[str, str] | None,
) -> list[Row]:
    """Return the decisions on a target, each with what its evaluators did.

    `obstacle` says of an evaluator by name what it waits for, "" if nothing; `identities` are those
    in force by name, None to compare with none.
    """
    made = results_on(cursor, target)
    results = {(r["decision_id"], r["evaluator"]): r for r in made}
    decided = decisions_on(cursor, target)
    attempts = _attempts(cursor, decided, made)
    by = _identities(cursor, target, made)
    found = []
    for decision in decided:
        keys = [(decision["decision_id"], name) for name in decision["evaluators"]]
        evaluators = [
            _evaluator(key, results.get(key), attempts.get(key, 0), obstacle) for key in keys
        ]
        if identities is not None:
            evaluators = [
                e | {"version": _version(by.get(key), identities.get(key[1]), decision["run_id"])}
                for key, e in zip(keys, evaluators, strict=True)
            ]
        if decision["run_state"] in ("canceled", "failed"):
            evaluators = [
                e if e["state"] == "done" else {**e, "state": "dropped"} for e in evaluators
            ]
        found.append({**decision, "evaluators": evaluators})
    return found


def _attempts(
    cursor: duckdb.DuckDBPyConnection, decisions: Sequence[Row], results: Sequence[Row]
) -> dict[tuple[str, str], int]:
    """Return how often each evaluator was started, by decision and evaluator."""
    selected = {d["decision_id"]: d["decided_at_ns"] for d in decisions if d["evaluators"]}
    if not selected:
        return {}
    waiting = {(d["decision_id"], name) for d in decisions for name in d["evaluators"]}
    waiting -= {(r["decision_id"], r["evaluator"]) for r in results}
    ended_ns = max((r["created_at_ns"] for r in results), default=0)
    asked = {
        "decision_ids": orjson.dumps([*selected]).decode(),
        "since_ns": min(selected.values()) - _CLOCK_STEP_NS,
        "until_ns": None if waiting else ended_ns + _CLOCK_STEP_NS,
    }
    rows = read_rows(cursor, "attempts_of_decisions", asked)
    return {(row["decision_id"], row["evaluator"]): row["attempts"] for row in rows}


def _target(trace_id: str, revisions: Sequence[Row]) -> Judged:
    first_seq = revisions[0]["first_seq"] if revisions else None
    return Judged(target_kind="trace", target_id=trace_id, first_seq=first_seq)


def _identities(
    cursor: duckdb.DuckDBPyConnection, target: Judged, results: Sequence[Row]
) -> dict[tuple[str, str], str]:
    """Return by which version each evaluator judged, or will, for each decision."""
    waiting = read_rows(cursor, "jobs_of_target", asdict(target))
    return {(job["decision_id"], job["evaluator"]): job["identity"] for job in waiting} | {
        (r["decision_id"], r["evaluator"]): "+".join(
            filter(None, (r["fingerprint"], r["criteria_hash"]))
        )
        for r in results
    }


def _version(judged_by: str | None, in_force: str | None, run_id: str) -> Version:
    """Compare the version that judges with that in force; what only runs name is never there."""
    if in_force is None:
        return "current" if run_id else "removed"
    return "former" if judged_by and judged_by != in_force else "current"


def _evaluator(
    key: tuple[str, str], result: Row | None, attempts: int, obstacle: Callable[[str], str]
) -> Row:
    data: Row = {"evaluator": key[1], "attempts": attempts, "state": "done"}
    if result is None and attempts:
        return {**data, "state": "running"}
    if result is None:
        return {**data, "state": "queued", "obstacle": obstacle(key[1])}
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
    if facts.revisions and facts.revisions[0]["spans_deleted_at_ns"]:
        yield "its spans were deleted, as retention says: it cannot be judged again"
    if facts.revisions and not facts.decisions:
        yield "no rule was in force when it was finished"


def decision_lines(
    decisions: Sequence[Row], rules: Mapping[str, Rule], current: int
) -> Iterator[str]:
    """Yield what was decided and what came of it, in words.

    `rules` are those in force now by name, `current` is the number of the newest revision, 0
    without one.
    """
    for decision in decisions:
        yield _decision_line(decision)
        yield from (f"  {line}" for line in _remarks(decision, rules))
        is_old = decision["revision"] < current
        yield from (f"  {_evaluator_line(e, is_old=is_old)}" for e in decision["evaluators"])
    if current:
        yield from _undecided_lines(decisions, rules, current)


def _decision_line(decision: Row) -> str:
    where = f"revision {decision['revision']}"
    if decision["run_id"]:
        where += f" in run {decision['run_id']}"
    outcome = decision["outcome"].replace("_", " ")
    return f"rule {decision['rule']!r} on {where}: {outcome}, {decision['reason']}"


def _remarks(decision: Row, rules: Mapping[str, Rule]) -> Iterator[str]:
    """Yield what a reader must know beside the reason: what it counts for, and under which rule."""
    chance, upstream = decision["probability"], decision["upstream_probability"]
    if decision["outcome"] == "selected" and chance and chance * upstream < 1:
        before = f", after {_percent(upstream)} were kept upstream" if upstream < 1 else ""
        yield f"counts for {1 / (chance * upstream):.4g}: drawn from {_percent(chance)}{before}"
    rule = rules.get(decision["rule"])
    if rule and not decision["run_id"] and rule.fingerprint != decision["rule_fingerprint"]:
        yield "the rule has changed since"


def _undecided_lines(
    decisions: Sequence[Row], rules: Mapping[str, Rule], current: int
) -> Iterator[str]:
    """Yield the rules of today that were not in force when the newest revision was finished."""
    live = {d["rule"] for d in decisions if d["revision"] == current and not d["run_id"]}
    for name in sorted(rules.keys() - live):
        yield (
            f"rule {name!r}: not in force when revision {current} was finished; "
            f"a run judges it (tracejury evaluate --rule {name})"
        )


def _percent(share: float) -> str:
    return f"{share * 100:g} %"


def _evaluator_line(evaluator: Mapping[str, Any], *, is_old: bool) -> str:
    return f"{_named(evaluator)}: {_standing(evaluator, is_old=is_old)}"


def _named(evaluator: Mapping[str, Any]) -> str:
    """Return the evaluator with what a reader must know of it, such as `tone (superseded)`."""
    remarks = [_VERSIONS.get(evaluator.get("version", ""), "")]
    if evaluator.get("superseded"):
        remarks.append("superseded")
    said = ", ".join(filter(None, remarks))
    return f"{evaluator['evaluator']} ({said})" if said else str(evaluator["evaluator"])


def _standing(evaluator: Mapping[str, Any], *, is_old: bool) -> str:
    if is_old and evaluator["state"] != "done":
        return "not judged, a later revision took its place"
    if evaluator["state"] == "dropped":
        return "not judged, its run was ended before"
    if evaluator["state"] == "queued":
        return f"waits for the jury{_because(evaluator['obstacle'])}"
    if evaluator["state"] == "running":
        return f"with the jury, attempt {evaluator['attempts']}"
    if evaluator["outcome"] == "score":
        said = f"{evaluator['verdict'] or 'score'} {evaluator['score']:g}"
        return f"{said}{_because(evaluator['reason'])}"
    if evaluator["outcome"] == "skip":
        return f"skipped{_because(evaluator['reason'])}"
    return f"failed with {evaluator['error_type']}{_because(evaluator['reason'])}"


def _because(reason: str) -> str:
    return f", {reason}" if reason else ""


def label_line(label: Row) -> str:
    """Return what somebody said of a trace or a session, and who."""
    number = None if label["value"] is None else f"{label['value']:g}"
    words = [word for word in (label["label"] or label["verdict"], number) if word]
    place = f" on span {label['span_id']}" if label["span_id"] else ""
    author = f" by {label['author']}" if label["author"] else ""
    said = " ".join(words) or "a comment"
    return f"label {label['name']!r}{place}{author}: {said}{_because(label['comment'] or '')}"
