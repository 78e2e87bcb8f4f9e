"""The worker: finished traces become revisions, revisions decisions, decisions jobs."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import duckdb
import pyarrow as pa

from tracejury_collector.assembling.assembly import dumped
from tracejury_collector.assembling.batch import Assembled, Batch
from tracejury_collector.completion import Completion, CompletionPolicy, Reception, decide
from tracejury_collector.config import Config
from tracejury_collector.deciding import Decider, trace_subjects
from tracejury_collector.errors import Unavailable
from tracejury_collector.finishing import Draft, FinishedTrace, chunks
from tracejury_collector.in_force import InForce
from tracejury_collector.jury.traces import TraceKey
from tracejury_collector.rules import Decision
from tracejury_collector.sampling import Draw
from tracejury_collector.session_finishing import Sessions
from tracejury_collector.store.database import Database
from tracejury_collector.store.ledger import Ledger
from tracejury_collector.store.loading import load_tables
from tracejury_collector.store.revisions import (
    Due,
    Earlier,
    FinishedBatch,
    FinishedWrite,
    due_traces,
    newly_reopened,
)
from tracejury_collector.store.rows import Revision
from tracejury_collector.store.turns import Turns

Operation = Callable[[duckdb.DuckDBPyConnection], None]

log = logging.getLogger(__name__)

BATCH_TRACES = 200
BATCH_SPANS = 20_000
CHUNK_SPANS = 1_500
"""Spans whose objects are in memory at a time, unless one trace has more."""

GIVE_WAY_S = 0.002
GIVE_WAY_MAX_S = 0.01  # before each read, so that judging goes on in any flood
_NEVER_NS = 0
_RETRY_S = 1.0


class Jury(Protocol):
    """What the worker needs of the jury."""

    def offer(self, key: TraceKey, data: bytes) -> None:
        """Take the JSON of a trace that will be judged."""

    def poke(self) -> None:
        """Hear that there are new jobs."""


class Assembling(Protocol):
    """What rebuilds finished traces.

    `lost` counts the processes that died at it, or were killed because they hung.
    """

    lost: int

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Assembled]:
        """Yield what is made of each batch, in order; each is taken when the one before is given.

        Raises: AssemblyFailed for a batch that it cannot assemble; Unavailable while it is away.
        """
        ...


class Worker:
    """Drives traces from open to decided; only one may work on a database.

    `assembling` rebuilds finished traces, elsewhere.
    `in_force` gives the rules and evaluators of this moment; they are asked for at each batch.
    `turns` is shared with whoever else writes decisions. `budget_refusal` says by a rule's name
    why it may select nothing more today.
    `reception` says since when the receivers listen and how far they lag. While the store
    `is_pressed` the worker gives way: requests must be answered, finished traces can wait.
    """

    def __init__(
        self,
        db: Database,
        config: Config,
        jury: Jury,
        in_force: Callable[[], InForce],
        assembling: Assembling,
        reception: Callable[[], Reception],
        now_ns: Callable[[], int] = time.time_ns,
        is_pressed: Callable[[], bool] = lambda: False,
        turns: Turns | None = None,
        budget_refusal: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._in_force = in_force
        self.assembling = assembling
        self.policy = _policy(config)
        self._reception = reception
        self._is_pressed = is_pressed
        self.finished: Counter[str] = Counter()
        self.decider = Decider(db, now_ns(), config.jury.backlog, budget_refusal)
        self._db = db
        self._jury = jury
        self._now_ns = now_ns
        self._tick_s = config.completion.tick
        self._max_revisions = config.completion.max_revisions
        self._reopened: dict[str, Earlier] = {}
        self._looked_up_seq = -1
        self._batch_traces = BATCH_TRACES
        self._taken: list[str] = []
        self._unreadable: dict[str, str] = {}
        self._given_up: set[str] = set()
        self._turns = turns or Turns(db)
        self._between: Callable[[], bool] = lambda: False
        self.sessions = Sessions(db, config, self._turns, self.decider)

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; a database that is away only delays it."""
        while not stop.is_set():
            pause_s = self._tick_s
            try:
                if self.tick() >= self._batch_traces:
                    pause_s = 0.0
                self._batch_traces = min(BATCH_TRACES, self._batch_traces * 2)
                if self._step_between():
                    pause_s = 0.0
            except duckdb.OutOfMemoryException as error:
                log.warning(
                    "a batch of finished traces is too large: %s", str(error).partition("\n")[0]
                )
                is_alone = self._batch_traces == 1 or self.sessions.is_alone
                if not (is_alone and self._db.grow(error)):
                    self._isolate("it does not fit into memory")
            except (Unavailable, duckdb.Error) as error:
                log.warning("finished traces cannot be written now: %s", error)
                pause_s = _RETRY_S
            except Exception as error:
                log.exception("a batch of finished traces failed")
                self._isolate(f"{type(error).__name__}: {error}")
            stop.wait(pause_s)

    def between(self, step: Callable[[], bool]) -> None:
        """Have `step` called after each tick; it says whether it is to be called again at once."""
        self._between = step

    def _step_between(self) -> bool:
        try:
            return self._between()
        except (Unavailable, duckdb.Error) as error:
            log.warning("history cannot be read again now: %s", error)
        except Exception:
            log.exception("reading history again failed")
        return False

    def revise(self, revisions: Sequence[Revision], also: Operation) -> None:
        """Write new revisions of traces that are not open, and `also`, in one commit.

        Every rule decides on them. Only in the thread that ticks.
        """
        draft = Draft(now_ns=self._now_ns())
        draws = self._draws()
        for revision in revisions:
            draft.revise(revision, dumped(revision, draws))
        with self._turns.take(draft.now_ns) as decided_ns:
            self._write(draft, decided_ns, also)

    def _isolate(self, reason: str) -> None:
        """After a failure that is no fault of the database: find the trace, finish it bare."""
        if self.sessions.isolate(reason):
            return
        if self._batch_traces > 1:
            self._batch_traces = 1
        elif len(self._taken) == 1:
            (trace_id,) = self._taken
            if trace_id in self._unreadable:
                self._given_up.add(trace_id)
                log.error("trace %s cannot be finished before the next start", trace_id)
            else:
                self._unreadable[trace_id] = reason
                log.error("trace %s cannot be read: %s", trace_id, reason)

    def tick(self) -> int:
        """Finish what is due, at most one batch; return how many traces were due.

        Raises: Unavailable or duckdb.Error when the database cannot be used now.
        """
        now_ns = self._now_ns()
        self.sessions.forget_taken()
        finished = self._finish_traces(now_ns)
        self._taken = []
        if finished < self._batch_traces:
            self._finish_sessions(now_ns)
        return finished

    def _finish_traces(self, now_ns: int) -> int:
        with self._db.read() as cursor:
            self._look_up_reopened(cursor)
            finished = self._due(cursor, now_ns, self._reception())
            self._taken = [trace.trace_id for trace in finished]
            if not finished:
                return 0
            draft = Draft(now_ns=now_ns)
            whole = [trace for trace in finished if trace.trace_id not in self._unreadable]
            groups = list(chunks(whole, CHUNK_SPANS))
            batches = (self._loaded(cursor, group, now_ns) for group in groups)
            for group, assembled in zip(groups, self.assembling(batches), strict=True):
                draft.add(group, assembled)
        for trace in finished:
            if trace.trace_id in self._unreadable:
                draft.add_bare(trace, self._unreadable[trace.trace_id])
        with self._turns.take(now_ns) as decided_ns:
            self._write(draft, decided_ns)
        for trace in finished:
            self._unreadable.pop(trace.trace_id, None)
        return len(finished)

    def _loaded(
        self, cursor: duckdb.DuckDBPyConnection, group: Sequence[FinishedTrace], now_ns: int
    ) -> Batch:
        self._give_way()
        ranges = [found for trace in group for found in trace.ranges()]
        spans, logs = load_tables(cursor, ranges)
        return Batch(
            tasks=[trace.task(now_ns) for trace in group],
            draws=self._draws(),
            spans=spans,
            logs=logs,
        )

    def _draws(self) -> list[Draw]:
        return [rule.draw for rule in self._in_force().rules_on("trace")]

    def _finish_sessions(self, now_ns: int) -> None:
        busy = {(e.project, e.session_id) for e in self._reopened.values() if e.session_id}
        if self.sessions.tick(self._in_force(), now_ns, self._reception(), busy):
            self._jury.poke()

    def _look_up_reopened(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._db.finished.renew(cursor)
        self._looked_up_seq, found = newly_reopened(cursor, self._db.finished, self._looked_up_seq)
        self._reopened.update((earlier.trace_id, earlier) for earlier in found)

    def _give_way(self) -> None:
        deadline_s = time.monotonic() + GIVE_WAY_MAX_S
        while self._is_pressed() and time.monotonic() < deadline_s:
            time.sleep(GIVE_WAY_S)

    def _due(
        self, cursor: duckdb.DuckDBPyConnection, now_ns: int, reception: Reception
    ) -> list[FinishedTrace]:
        """Return finished traces, longest quiet first, as many as one batch takes."""
        found: list[FinishedTrace] = []
        spans = 0
        bounds = self._bounds(now_ns, reception)
        for opened in due_traces(cursor, bounds, self._reopened, self.policy):
            completion = decide(opened.activity, self.policy, now_ns, reception)
            if not isinstance(completion, Completion):
                continue
            if opened.activity.trace_id in self._given_up:
                continue
            spans += opened.activity.span_count
            if found and (spans > BATCH_SPANS or len(found) == self._batch_traces):
                break
            earlier = self._reopened.get(opened.activity.trace_id)
            found.append(FinishedTrace(opened=opened, completion=completion, earlier=earlier))
        return found

    def _bounds(self, now_ns: int, reception: Reception) -> Due:
        """Return the latest arrivals for which each rule of completion can hold."""
        late_ns = now_ns - reception.lag_ns

        def quiet_since(wait_ns: int) -> int:
            latest_ns = late_ns - wait_ns
            return latest_ns if latest_ns >= reception.listening_since_ns else _NEVER_NS

        quiet_ns = quiet_since(self.policy.after_root_ns)
        imports_end = late_ns - self.policy.after_root_ns >= reception.imported_ns
        return Due(
            quiet_ns=quiet_ns,
            imported_ns=quiet_ns if imports_end else _NEVER_NS,
            idle_ns=quiet_since(self.policy.idle_ns),
            aged_ns=late_ns - self.policy.max_age_ns,
            now_ns=now_ns,
            batch=self._batch_traces + len(self._given_up),
        )

    def _decide(
        self, in_force: InForce, draft: Draft, traces: pa.Table, decided_ns: int
    ) -> list[Decision]:
        """Return one decision per rule and revision."""
        again = bool(draft.revised)  # no arrival: neither late spans nor the traffic of a minute
        limit = None if again else self._max_revisions
        subjects = trace_subjects(traces, limit, draft.former_ns)
        return self.decider.decide(in_force, subjects, traces, decided_ns, is_paced=not again)

    def _write(self, draft: Draft, decided_ns: int, also: Operation | None = None) -> None:
        """Write the batch in one transaction, then tell the jury."""
        in_force = self._in_force()
        tables = draft.tables()
        decisions = self._decide(in_force, draft, tables["traces"], decided_ns)
        ledger = Ledger()
        for decision in decisions:
            ledger.add(decision, decided_ns)
        tables |= ledger.tables()
        judges_sessions = bool(in_force.rules_on("session"))
        if judges_sessions:
            tables["sessions"] = draft.session_news()
        changes = not judges_sessions and self.sessions.have_revisions()
        batch = FinishedBatch(
            closing=draft.closing,
            revised=frozenset(draft.revised),
            changed=draft.session_news() if changes else None,
            tables=tables,
            again=draft.again,
        )
        write = FinishedWrite(batch, self._db.tally, also)
        self._db.finished.note([revision.trace_id for revision in draft.revisions])
        closed, carried_over = self._db.write(write).result()
        noted = (d for d in decisions if d.subject.target_id in closed)
        self.decider.note(noted, decided_ns, is_paced=not draft.revised)
        for trace_id in closed - carried_over:
            self._reopened.pop(trace_id, None)
        for revision in draft.revisions:
            trace_id = revision.trace_id
            if trace_id not in closed:
                continue
            self.finished[draft.completed_by[trace_id]] += 1
            if trace_id in carried_over:
                self._reopened[trace_id] = revision
            if trace_id in ledger.selected and trace_id in draft.dumps:
                self._jury.offer((trace_id, revision.revision), draft.dumps[trace_id])
        if ledger.selected:
            self._jury.poke()


def _policy(config: Config) -> CompletionPolicy:
    settings = config.completion
    return CompletionPolicy(
        after_root_ns=int(settings.after_root * 1e9),
        idle_ns=int(settings.idle * 1e9),
        max_age_ns=int(settings.max_age * 1e9),
    )
