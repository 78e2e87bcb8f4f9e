"""The API over a real database, in this process, with a clock of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tests.helpers.databases import lay_out
from tests.helpers.service import eventually
from tests.helpers.store import span_row, span_table
from tests.helpers.worker import stories_of
from tracejury_collector.api.app import create_app
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.problems import malformed_http
from tracejury_collector.assembling.assembly import InProcess
from tracejury_collector.completion import Reception
from tracejury_collector.config import Config, parse_config
from tracejury_collector.definitions import Definitions
from tracejury_collector.erasing import Eraser
from tracejury_collector.http_server import http_server
from tracejury_collector.importing import Imports, make_ingest
from tracejury_collector.in_force import budgets_of
from tracejury_collector.jury.budgets import Budgets
from tracejury_collector.jury.building import CatalogSeats
from tracejury_collector.jury.catalog import DescribedType
from tracejury_collector.jury.describe import describe
from tracejury_collector.jury.pool import JuryPool
from tracejury_collector.keys.ring import KeyRing
from tracejury_collector.maintenance import Maintenance
from tracejury_collector.redaction import Redactor
from tracejury_collector.renormalizing import Renormalizer
from tracejury_collector.runs.desk import RunDesk
from tracejury_collector.runs.driver import RunDriver
from tracejury_collector.store.append import Appender
from tracejury_collector.store.database import Database
from tracejury_collector.store.turns import Turns
from tracejury_collector.store.unread import UnreadLog
from tracejury_collector.worker import Worker

START_NS = 1_790_000_000_000_000_000
SECOND_NS = 1_000_000_000


class Clock:
    """The time of a test."""

    def __init__(self) -> None:
        self.now_ns = START_NS

    def __call__(self) -> int:
        return self.now_ns


@dataclass(frozen=True, kw_only=True)
class Api:
    """The API and what stands behind it."""

    context: ApiContext
    appender: Appender
    worker: Worker
    driver: RunDriver
    clock: Clock
    http: TestClient

    def store(self, *rows: dict[str, Any]) -> None:
        """Store spans as the receiver does."""
        self.appender.append("spans", span_table(rows), 0).result(10)

    def finish(self) -> None:
        """Let the time pass that finishes every trace, and finish them."""
        self.clock.now_ns += 10 * SECOND_NS
        while self.worker.tick():
            pass

    def get(self, path: str, **params: Any) -> Any:
        """Return the JSON of a GET that must succeed."""
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def running_api(directory: Path, **settings: Any) -> Iterator[Api]:
    """Give the API over a new database in `directory`."""
    config = parse_config({"storage": str(directory / "api.duckdb"), **settings})
    lay_out(Path(config.storage))
    db = Database.open(config.storage, config.database)
    clock = Clock()
    try:
        appender = Appender(db, clock)
        catalog = describe(config, directory)
        seats = CatalogSeats(directory, catalog)
        definitions = Definitions(db, config, catalog.roster(config), seats, clock)
        jury = JuryPool(db, config, definitions.seat_of, clock)
        budgets = Budgets(
            db, lambda: budgets_of(config.budget, definitions.in_force().rules), clock
        )
        turns = Turns(db)
        imports = Imports(db, clock)
        began_ns = clock()
        worker = Worker(
            db,
            config,
            jury,
            definitions.in_force,
            InProcess(),
            lambda: Reception(listening_since_ns=began_ns, imported_ns=imports.last_ns),
            clock,
            turns=turns,
        )
        driver = RunDriver(
            db,
            turns,
            jury.poke,
            clock,
            judges_sessions=lambda: bool(definitions.in_force().rules_on("session")),
        )
        runs = RunDesk(db, driver, definitions, clock)
        context = _context(
            db, config, definitions, worker, jury, budgets, runs, appender, imports, catalog.types
        )
        with TestClient(create_app(context), base_url="http://127.0.0.1:4319") as http:
            yield Api(
                context=context,
                appender=appender,
                worker=worker,
                driver=driver,
                clock=clock,
                http=http,
            )
    finally:
        db.close()


def _context(
    db: Database,
    config: Config,
    definitions: Definitions,
    worker: Worker,
    jury: JuryPool,
    budgets: Budgets,
    runs: RunDesk,
    appender: Appender,
    imports: Imports,
    evaluator_types: list[DescribedType],
) -> ApiContext:
    redactor = Redactor(config.redact)
    return ApiContext(
        db=db,
        config=config,
        keys=KeyRing(config.key_file()),
        definitions=definitions,
        worker=worker,
        stories=stories_of(worker, jury),
        jury=jury,
        budgets=budgets,
        runs=runs,
        renormalizer=Renormalizer(db, worker.revise, worker._now_ns),
        ingest=make_ingest(appender, UnreadLog(db), config.limits, imports, redactor),
        redactor=redactor,
        eraser=Eraser(db, worker._now_ns),
        maintenance=Maintenance(db, config.database, worker._now_ns),
        started_ns=START_NS,
        version="0.0.test",
        listen={"otlp_http": "127.0.0.1:4318"},
        evaluator_types=evaluator_types,
    )


def agent_run(
    number: int, *, ended: bool = True, service: str = "booking"
) -> Sequence[dict[str, Any]]:
    """Return the spans of a small agent run: a root and a tool call."""
    trace_id = f"{number:032x}"
    start_ns = START_NS + number * SECOND_NS
    shared = {
        "trace_id": trace_id,
        "service_name": service,
        "resource": f'{{"attributes":{{"service.name":"{service}"}}}}',
        "start_time": start_ns,
        "start_time_unix_nano": start_ns,
        "end_time": start_ns + SECOND_NS if ended else None,
        "end_time_unix_nano": start_ns + SECOND_NS if ended else 0,
    }
    root = {
        "span_id": f"{number:015x}1",
        "name": "invoke_agent planner",
        "kind": "agent",
        "attributes": '{"gen_ai.operation.name":"invoke_agent","gen_ai.agent.name":"planner",'
        f'"gen_ai.conversation.id":"session-{number % 2}"}}',
    }
    tool = {
        "span_id": f"{number:015x}2",
        "parent_span_id": root["span_id"],
        "name": "execute_tool search",
        "kind": "tool",
        "attributes": '{"gen_ai.operation.name":"execute_tool","gen_ai.tool.name":"search",'
        '"gen_ai.tool.call.id":"call_1","gen_ai.tool.call.arguments":"{\\"q\\":\\"trains\\"}",'
        '"gen_ai.tool.call.result":"[1,2]"}',
    }
    return [span_row(**{**root, **shared}), span_row(**{**tool, **shared})]


RESULT = {
    "decision_id": "d1",
    "evaluator": "fast",
    "type": "latency-budget",
    "fingerprint": "f1",
    "criteria_hash": "",
    "case_id": "",
    "target_kind": "trace",
    "target_id": f"{1:032x}",
    "trace_id": f"{1:032x}",
    "revision": 1,
    "rule": "default",
    "rule_fingerprint": "r1",
    "run_id": "",
    "trigger": "live",
    "outcome": "score",
    "score": 1.0,
    "verdict": "pass",
    "reason": "took 1000 ms",
    "hits": [],
    "misses": [],
    "details": '{"latency_ms":1000}',
    "evidence": [],
    "duration_ms": 0.5,
    "superseded": False,
}


def record_result(api: Api, *, at_ns: int = START_NS, **overrides: Any) -> None:
    """Write one result as the jury does."""
    row = {**RESULT, **overrides}
    names = ", ".join(row)
    marks = ", ".join("?" for _ in row)
    sql = (
        f"INSERT INTO base.results ({names}, created_at, first_seq) "
        f"VALUES ({marks}, make_timestamp_ns({at_ns}), "
        f"(SELECT min(first_seq) FROM base.traces WHERE trace_id = '{row['trace_id']}'))"
    )
    api.context.db.write(lambda connection: connection.execute(sql, list(row.values()))).result(10)


@contextmanager
def served(api: Api, *, follows: bool = True) -> Iterator[str]:
    """Serve the API on a real port; gives its URL. Without `follows` event streams end at once."""
    app = create_app(api.context)
    if not follows:
        app.state.streams.close()
    server = http_server(app, drain_s=0, malformed=malformed_http())
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        eventually(lambda: server.started, "the API listens")
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
