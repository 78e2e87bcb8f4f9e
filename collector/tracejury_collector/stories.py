"""Tells what became of a trace or a session and why, by the rules and the time of now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tracejury_collector.completion import CompletionPolicy, Reception
from tracejury_collector.explain import explain
from tracejury_collector.explain_session import Asked, explain_session
from tracejury_collector.in_force import InForce
from tracejury_collector.jury.roster import Seat
from tracejury_collector.session_completion import SessionPolicy
from tracejury_collector.store.database import Database


class Jury(Protocol):
    """What a story needs of the jury."""

    def obstacle(self, seat: Seat) -> str:
        """Say why an evaluator does not judge now, "" if nothing stands in its way."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stories:
    """Explains traces and sessions; the policies are those by which the worker finishes them."""

    db: Database
    policy: CompletionPolicy
    session_policy: SessionPolicy
    reception: Callable[[], Reception]
    now_ns: Callable[[], int]
    in_force: Callable[[], InForce]
    jury: Jury

    def of_trace(self, trace_id: str) -> dict[str, Any]:
        """Return the whole story of a trace, in words and data.

        Raises: NotFound for a trace that never arrived.
        """
        return explain(
            self.db,
            trace_id,
            policy=self.policy,
            reception=self.reception(),
            now_ns=self.now_ns(),
            rules=self.in_force().rules_on("trace"),
            obstacle=self._obstacle,
            identities=self._identities(),
        )

    def of_session(self, session_id: str, project: str | None) -> dict[str, Any]:
        """Return the whole story of a session, in words and data.

        `project` None is the one where it was active last.
        Raises: NotFound for a session that no trace named.
        """
        asked = Asked(
            session_id=session_id,
            project=project,
            policy=self.session_policy,
            reception=self.reception(),
            now_ns=self.now_ns(),
            rules=self.in_force().rules_on("session"),
            obstacle=self._obstacle,
            identities=self._identities(),
        )
        return explain_session(self.db, asked)

    def _obstacle(self, evaluator: str) -> str:
        seat = self.in_force().seats.get(evaluator)
        return self.jury.obstacle(seat) if seat else ""

    def _identities(self) -> dict[str, str]:
        return {name: seat.identity for name, seat in self.in_force().seats.items()}
