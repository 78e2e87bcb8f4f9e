"""Deciding: every rule in force on every finished revision of a batch, once each."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from tracejury_collector.config import JurySettings
from tracejury_collector.in_force import InForce
from tracejury_collector.rules import Circumstances, Decision, Former, Rule, Subject, choose
from tracejury_collector.rules.pacing import MINUTE_NS, Pacer, overflow
from tracejury_collector.store.database import Database
from tracejury_collector.store.sampled import (
    ConversationKey,
    FormerKey,
    former_decisions,
    paced_decisions,
    sampled_conversations,
    waiting_jobs,
)

MAX_CONVERSATIONS = 20_000
CONVERSATION_NS = 3600 * 1_000_000_000
"""How far back conversations are remembered after a start."""

_FACTS = (
    *("trace_id", "revision", "kind", "project", "session_id"),
    *("upstream_probability", "first_seq", "last_seq"),
)


def trace_subjects(
    traces: pa.Table,
    max_revisions: int | None = None,
    former_ns: Mapping[str, int] = MappingProxyType({}),
) -> list[Subject]:
    """Return the revisions of traces in rows of `base.traces` as what rules decide on.

    `former_ns` says by trace id when the revision before was finished.
    """
    columns = (traces.column(name).to_pylist() for name in _FACTS)
    return [
        Subject(
            target_id=trace_id,
            revision=revision,
            kind=kind,
            project=project,
            session_id=session_id or "",
            upstream_probability=upstream,
            first_seq=first_seq,
            last_seq=last_seq,
            former_ns=former_ns.get(trace_id, 0),
            max_revisions=max_revisions,
        )
        for trace_id, revision, kind, project, session_id, upstream, first_seq, last_seq in zip(
            *columns, strict=True
        )
    ]


@dataclass(slots=True, kw_only=True)
class _Load:
    """What a batch adds to while it is decided: jobs that wait, selected in this minute by rule."""

    waiting: int
    backlog: int
    selected: Counter[str]
    is_paced: bool

    def overload(self, rule: Rule) -> str:
        """Say why the rule may select no more; "" if it may."""
        if self.waiting >= self.backlog:
            return f"{self.waiting} decisions wait for the jury already (jury.backlog)"
        return overflow(rule, self.selected[rule.name]) if self.is_paced else ""

    def add(self, decision: Decision) -> None:
        """Count a decision."""
        if decision.outcome == "selected":
            self.waiting += 1
            self.selected[decision.rule.name] += 1


class Decider:
    """Decides live, and knows how the rules with a cap go.

    What it knows comes from decisions that were written: tell it of them by `note`. `refusal` says
    by a rule's name why its budget allows nothing more, "" if it does.
    """

    def __init__(
        self,
        db: Database,
        now_ns: int,
        backlog: int = JurySettings().backlog,
        refusal: Callable[[str], str] = lambda _: "",
    ) -> None:
        """Read what the rules did lately.

        Raises: Unavailable or duckdb.Error when the database cannot be read now.
        """
        self._db = db
        self._backlog = backlog
        self._refusal = refusal
        self._pacer = Pacer()
        self._conversations: OrderedDict[ConversationKey, Former] = OrderedDict()
        self.outcomes: Counter[tuple[str, ...]] = Counter()
        self.factors: dict[str, float] = {}
        with db.read() as cursor:
            for paced in paced_decisions(cursor, (now_ns // MINUTE_NS - 1) * MINUTE_NS):
                minute = self._pacer.of(paced.rule, paced.minute)
                minute.sampled[paced.stratum] += paced.sampled
                minute.selected += paced.selected
            since_ns = now_ns - CONVERSATION_NS
            self._conversations.update(sampled_conversations(cursor, since_ns, MAX_CONVERSATIONS))

    def decide(
        self,
        in_force: InForce,
        subjects: Sequence[Subject],
        facts: pa.Table,
        now_ns: int,
        *,
        is_paced: bool = True,
    ) -> list[Decision]:
        """Return one decision per rule and subject, of which all are of one target kind.

        `facts` are their rows of `base.traces`, or of `sessions` with their `target_id`. What is
        not paced is no traffic of this minute: it is not counted to a cap, nor ended by its bound.
        Raises: Unavailable or duckdb.Error when the database cannot be read now.
        """
        target = subjects[0].target_kind if subjects else "trace"
        rules = in_force.rules_on(target)
        if not subjects or not rules:
            return []
        checks = in_force.conditions.evaluate(facts, target)
        self.factors = {
            r.name: self._pacer.factor(r, now_ns) for r in in_force.rules if r.per_minute
        }
        names = {rule.name for rule in in_force.rules}
        self.outcomes = Counter({key: n for key, n in self.outcomes.items() if key[0] in names})
        refusals = {rule.name: self._refusal(rule.name) for rule in rules}
        with self._db.read() as cursor:
            load = self._load(rules, waiting_jobs(cursor), now_ns, is_paced)
            formers = former_decisions(cursor, subjects) if self.factors else {}
        decisions = []
        for subject in subjects:
            for rule in rules:
                circumstances = Circumstances(
                    cap_factor=self.factors.get(rule.name, 1.0),
                    former=self._former(rule, subject, formers),
                    budget_refusal=refusals[rule.name],
                    overload=load.overload(rule),
                )
                decision = choose(
                    rule, checks[rule.name][subject.target_id], subject, circumstances
                )
                load.add(decision)
                decisions.append(decision)
        return decisions

    def note(
        self, decisions: Iterable[Decision], decided_ns: int, *, is_paced: bool = True
    ) -> None:
        """Remember decisions that were written."""
        for decision in decisions:
            self.outcomes[decision.rule.name, decision.outcome] += 1
            if is_paced:
                self._pacer.note(decision, decided_ns)
            if decision.sampled_by == "session" and decision.probability is not None:
                self._remember(decision, decision.probability)

    def _remember(self, decision: Decision, probability: float) -> None:
        """Keep the first chance of a conversation, as long as it goes on."""
        key = _conversation(decision.rule, decision.subject)
        former = Former(stratum=decision.stratum, probability=probability)
        self._conversations.setdefault(key, former)
        self._conversations.move_to_end(key)
        if len(self._conversations) > MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)

    def _former(
        self, rule: Rule, subject: Subject, formers: Mapping[FormerKey, Former]
    ) -> Former | None:
        if rule.per_minute is None:
            return None
        conversation = self._conversations.get(_conversation(rule, subject))
        return conversation or formers.get(
            (rule.fingerprint, subject.target_kind, subject.target_id)
        )

    def _load(self, rules: Iterable[Rule], waiting: int, now_ns: int, is_paced: bool) -> _Load:
        minute = now_ns // MINUTE_NS
        selected = Counter({r.name: self._pacer.of(r.name, minute).selected for r in rules})
        return _Load(waiting=waiting, backlog=self._backlog, selected=selected, is_paced=is_paced)


def _conversation(rule: Rule, subject: Subject) -> ConversationKey:
    return rule.fingerprint, subject.project, subject.session_id
