"""The whole story of a session: is it finished, what did each rule decide, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tracejury_collector.completion import Completion, Reception, Waiting
from tracejury_collector.errors import NotFound
from tracejury_collector.explain import decision_lines, decisions_of, label_line
from tracejury_collector.rules import Rule
from tracejury_collector.session_completion import SessionActivity, SessionPolicy, decide_session
from tracejury_collector.session_ids import session_target
from tracejury_collector.store.about import Judged
from tracejury_collector.store.database import Database
from tracejury_collector.store.labels import labels_of_session
from tracejury_collector.store.statements import Row, read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What the database knows of a session; `activity` is what no revision holds yet."""

    rules: Mapping[str, Rule]
    open_traces: int
    activity: SessionActivity | None
    state: Completion | Waiting | None
    revisions: Sequence[Row]
    decisions: Sequence[Row]

    @property
    def current(self) -> int:
        """The number of the newest revision, 0 without one."""
        return int(self.revisions[0]["revision"]) if self.revisions else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which session is asked about, by whose rules of time.

    `project` None is the one where it was active last; `rules` are those on sessions in force now.
    `obstacle` says of an evaluator by name what it waits for, "" if nothing; `identities` are those
    of the evaluators in force by name.
    """

    session_id: str
    project: str | None
    policy: SessionPolicy
    reception: Reception
    now_ns: int
    rules: Sequence[Rule]
    obstacle: Callable[[str], str]
    identities: Mapping[str, str]


def explain_session(db: Database, asked: Asked) -> Row:
    """Return the story in words (`lines`) and as data.

    Raises: NotFound for a session that no trace ever named, in that project.
    """
    with db.read_as_one() as cursor:
        known = read_rows(cursor, "projects_of_session", _key(asked))
        projects = [row["project"] for row in known]
        project = asked.project if asked.project is not None else next(iter(projects), None)
        if project is None or project not in projects:
            raise _unknown(asked, projects)
        facts = _facts(cursor, asked, project)
        labels = labels_of_session(cursor, asked.session_id, project)
    return {
        "session_id": asked.session_id,
        "project": project,
        "target_id": session_target(project, asked.session_id),
        "status": "open" if facts.open_traces or facts.activity else "complete",
        "lines": [
            *_lines(facts),
            *decision_lines(facts.decisions, facts.rules, facts.current),
            *map(label_line, labels),
        ],
        "completion": _completion(facts),
        "revisions": list(facts.revisions),
        "decisions": list(facts.decisions),
        "labels": labels,
        "other_projects": [name for name in projects if name != project],
    }


def _key(asked: Asked) -> Row:
    return {"session_id": asked.session_id}


def _facts(cursor: duckdb.DuckDBPyConnection, asked: Asked, project: str) -> _Facts:
    key = {**_key(asked), "project": project}
    target = Judged(target_kind="session", target_id=session_target(project, asked.session_id))
    revisions = read_rows(cursor, "revisions_of_session", {"target_id": target.target_id})
    (news,) = read_rows(cursor, "news_of_session", key)
    activity = None
    if news["last_seen_ns"] is not None:
        activity = SessionActivity(
            first_seen_ns=news["first_seen_ns"],
            last_seen_ns=news["last_seen_ns"],
            open_traces=news["open_traces"],
            revision=revisions[0]["revision"] if revisions else 0,
        )
    state = (
        decide_session(activity, asked.policy, asked.now_ns, asked.reception) if activity else None
    )
    return _Facts(
        rules={rule.name: rule for rule in asked.rules},
        open_traces=news["open_traces"],
        activity=activity,
        state=state,
        revisions=revisions,
        decisions=decisions_of(cursor, target, asked.obstacle, asked.identities),
    )


def _completion(facts: _Facts) -> Row:
    """Return the state of completion as data."""
    data: Row = {
        "finished": bool(facts.revisions) and not facts.activity and not facts.open_traces,
        "revision": facts.current,
        "open_traces": facts.open_traces,
    }
    if facts.activity:
        data["last_seen_ns"] = facts.activity.last_seen_ns
    if isinstance(facts.state, Waiting):
        data |= {"reason": facts.state.reason, "due_ns": facts.state.due_ns}
    return data


def _lines(facts: _Facts) -> Iterator[str]:
    if not facts.rules:
        yield "no rule judges sessions"
    elif isinstance(facts.state, Waiting):
        yield f"not finished yet: {facts.state.reason}"
    elif facts.state:
        yield "about to be finished: nothing arrived any more"
    elif facts.open_traces:
        yield f"not finished yet: {_traces(facts.open_traces)} of it not finished"
    elif not facts.revisions:
        yield "no rule on sessions was in force when its traces were finished"
    for revision in facts.revisions:
        old = " (superseded)" if revision["superseded"] else ""
        members, traces = len(revision["members"]), revision["traces"]
        judged = "" if members == traces else f", of which the latest {members} are judged"
        yield (
            f"revision {revision['revision']}{old}: finished because nothing arrived any more, "
            f"{_traces(traces)}{judged}"
        )


def _traces(count: int) -> str:
    return "1 trace" if count == 1 else f"{count} traces"


def _unknown(asked: Asked, projects: Sequence[str]) -> NotFound:
    name = asked.session_id[:100]
    if projects:
        found = ", ".join(repr(project) for project in projects[:20])
        return NotFound(f"the project {asked.project!r} has no session {name!r}; it is in {found}")
    return NotFound(
        f"no trace is of the session {name!r}; check the id (percent-encoded in a URL), and "
        "whether its traces have been exported yet"
    )
