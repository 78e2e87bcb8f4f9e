"""A worker on a real database with a clock that tests set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers.databases import lay_out
from tests.helpers.store import START_NS, log_row, log_table, span_row, span_table
from tracejury.result import Outcome
from tracejury_collector.assembling.assembly import InProcess
from tracejury_collector.completion import Reception
from tracejury_collector.config import Config, parse_config
from tracejury_collector.definitions import Definitions
from tracejury_collector.jury.building import RegistrySeats
from tracejury_collector.jury.intake import Intake
from tracejury_collector.jury.pool import JuryPool
from tracejury_collector.jury.recorder import Recorder
from tracejury_collector.jury.roster import build_roster
from tracejury_collector.store.append import Appended, Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.turns import Turns
from tracejury_collector.stories import Stories
from tracejury_collector.worker import Worker
from tracejury_evaluators.plugins import default_registry
from tracejury_evaluators.registry import Registry

SECOND_NS = 1_000_000_000
JUDGED = {"default": {"evaluators": ["non-empty-output", "no-loops"]}}


@dataclass
class Clock:
    """The time, as the test says."""

    now_ns: int = START_NS

    def __call__(self) -> int:
        """Return the time."""
        return self.now_ns

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_ns += int(seconds * SECOND_NS)


@dataclass
class Bench:
    """The parts around a worker; `restart` closes and opens all of them."""

    path: Path
    config: Config
    registry: Registry = field(default_factory=default_registry)
    clock: Clock = field(default_factory=Clock)
    budget_refusals: dict[str, str] = field(default_factory=dict)
    db: Database = field(init=False)
    appender: Appender = field(init=False)
    definitions: Definitions = field(init=False)
    jury: JuryPool = field(init=False)
    turns: Turns = field(init=False)
    worker: Worker = field(init=False)
    stories: Stories = field(init=False)

    def open(self) -> None:
        """Open the database and build the parts."""
        lay_out(self.path)
        self.db = Database.open(str(self.path), self.config.database)
        self.appender = Appender(self.db, now_ns=self.clock)
        roster = build_roster(self.config, self.registry)
        schemas = {row.type: row.config_schema for row in self.registry.types()}
        seats = RegistrySeats(self.registry, schemas)
        self.definitions = Definitions(self.db, self.config, roster, seats, now_ns=self.clock)
        self.jury = JuryPool(self.db, self.config, self.definitions.seat_of, now_ns=self.clock)
        self.turns = Turns(self.db)
        listening = Reception(listening_since_ns=self.clock())
        self.worker = Worker(
            self.db,
            self.config,
            self.jury,
            self.definitions.in_force,
            InProcess(),
            reception=lambda: listening,
            now_ns=self.clock,
            budget_refusal=lambda rule: self.budget_refusals.get(rule, ""),
            turns=self.turns,
        )
        self.stories = stories_of(self.worker, self.jury)

    def restart(self) -> None:
        """Stop and start again, as after a kill between two commits."""
        self.db.close()
        self.open()

    def spans(self, *rows: Mapping[str, Any]) -> Appended:
        """Receive spans, one millisecond after what came before."""
        self.clock.advance(0.001)
        return self.appender.append("spans", span_table(rows), 0).result()

    def logs(self, *rows: Mapping[str, Any]) -> Appended:
        """Receive log records, one millisecond after what came before."""
        self.clock.advance(0.001)
        return self.appender.append("logs", log_table(rows), 0).result()

    def after(self, seconds: float) -> int:
        """Let time pass, then tick."""
        self.clock.advance(seconds)
        return self.worker.tick()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the tables."""
        with self.db.read() as cursor:
            return cursor.execute(sql).fetchall()

    def judged_late(self, outcome: Outcome) -> Callable[[], None]:
        """Take every job, as the jury does; what is returned writes this outcome for them."""
        jobs = Intake(self.db, self.definitions.seat_of).read_all(10_000)

        async def write() -> None:
            recorder = Recorder(self.db, self.clock)
            recording = asyncio.create_task(recorder.run())
            for _, job, _clear in jobs:
                for name in list(job.pairs):
                    recorder.record(job, name, outcome, 1.0)
            await recorder.stop(recording)

        return lambda: asyncio.run(write())

    def judge(self, outcome: Outcome) -> int:
        """Write this outcome for every evaluator that owes one; return how many did."""
        return asyncio.run(self._judge(outcome))

    async def _judge(self, outcome: Outcome) -> int:
        recorder = Recorder(self.db, self.clock)
        recording = asyncio.create_task(recorder.run())
        jobs = Intake(self.db, self.definitions.seat_of).read_all(10_000)
        owed = [(job, name, clear) for _, job, clear in jobs for name in list(job.pairs)]
        for job, name, clear in owed:
            recorder.record(job, name, clear.get(name, outcome), 1.0)
        await recorder.stop(recording)
        return len(owed)


@contextmanager
def bench(
    path: Path,
    settings: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
    *,
    clock: Clock | None = None,
) -> Iterator[Bench]:
    """Give a bench with this configuration."""
    config = parse_config({"rules": JUDGED, **(settings or {})})
    built = Bench(
        path=path / "t.duckdb",
        config=config,
        registry=registry or default_registry(),
        clock=clock or Clock(),
    )
    built.open()
    try:
        yield built
    finally:
        built.db.close()


def stories_of(worker: Worker, jury: JuryPool) -> Stories:
    """Return what explains traces and sessions as this worker sees them."""
    return Stories(
        db=worker._db,
        policy=worker.policy,
        session_policy=worker.sessions.policy,
        reception=worker._reception,
        now_ns=worker._now_ns,
        in_force=worker._in_force,
        jury=jury,
    )


def trace_id(number: int) -> str:
    """Return the id of trace `number`."""
    return f"{number:032x}"


def root(trace: int = 1, **fields: Any) -> dict[str, Any]:
    """Return the ended root span of a trace: an agent that said something."""
    attributes = '{"gen_ai.operation.name":"invoke_agent","gen_ai.agent.name":"booker"}'
    base = {"trace_id": trace_id(trace), "span_id": f"{1:016x}", "attributes": attributes}
    return span_row(**{**base, "kind": "agent", "name": "invoke_agent booker", **fields})


def child(trace: int = 1, number: int = 2, **fields: Any) -> dict[str, Any]:
    """Return the tool span `number` below the root of a trace."""
    base = {
        "trace_id": trace_id(trace),
        "span_id": f"{number:016x}",
        "parent_span_id": f"{1:016x}",
        "kind": "tool",
        "name": "execute_tool search",
        "attributes": '{"gen_ai.operation.name":"execute_tool","gen_ai.tool.name":"search",'
        '"gen_ai.tool.call.arguments":"{\\"q\\": ' + str(number) + '}"}',
    }
    return span_row(**{**base, **fields})


def log(trace: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a log record of a trace."""
    return log_row(**{"trace_id": trace_id(trace), **fields})
