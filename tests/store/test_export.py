"""Results over OTLP: what is sent, in which order, and what happens when it is not taken."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.helpers.endpoint import endpoint
from tests.helpers.otlp_receiver import Record, grpc_receiver, records_in, records_of
from tests.helpers.worker import Bench, bench, child, root, trace_id
from tracejury.result import Failure, Outcome, Score, Skip
from tracejury_collector.config import OtlpExportSettings
from tracejury_collector.errors import ConfigError
from tracejury_collector.export.answers import Accepted, Away, Refused, answer_of_http, pause_s
from tracejury_collector.export.exporter import NAME, Exporter
from tracejury_collector.export.itself import refuse_itself
from tracejury_collector.export.transport import logs_url, open_transport
from tracejury_collector.store.exports import ExportMark, MarkWrite, find_mark

PASS = Score(value=1.0, verdict="pass", reason="all is well")


@dataclass
class Export:
    """An export of a bench's results."""

    store: Bench
    settings: OtlpExportSettings

    def steps(self, count: int) -> list[float]:
        """Take so many steps as after a start; return the pauses after them."""
        return asyncio.run(self._steps(count))

    async def _steps(self, count: int) -> list[float]:
        transport = open_transport(self.settings)
        exporter = Exporter(self.store.db, self.settings, transport, "1.2", self.store.clock)
        try:
            return [await exporter.step() for _ in range(count)]
        finally:
            await transport.close()

    def mark(self) -> ExportMark:
        """Return how far it has come."""
        found = find_mark(self.store.db, NAME)
        assert found is not None
        return found


@contextmanager
def exporting(path: Path, url: str, **settings: Any) -> Iterator[Export]:
    """An export that has begun, of a store without results."""
    rules = {"rules": {"default": {"evaluators": ["non-empty-output"]}}}
    given = OtlpExportSettings.model_validate({"endpoint": url, **settings})
    with bench(path, rules) as store:
        export = Export(store, given)
        export.steps(1)
        yield export


def judge(store: Bench, first: int, last: int, outcome: Outcome = PASS) -> None:
    """Have traces finished and judged."""
    store.spans(*[row for n in range(first, last + 1) for row in (root(n), child(n))])
    store.after(4)
    store.judge(outcome)


def ids(records: list[Record]) -> list[str]:
    return [record["trace_id"] for record in records]


def test_a_result_becomes_the_event_of_the_semantic_conventions(tmp_path: Path) -> None:
    with endpoint() as server, exporting(tmp_path, server.url) as export:
        judge(export.store, 1, 1)
        export.steps(1)
        (record,) = records_in(server.bodies)
    root_span = root(1)["span_id"]
    expected = {
        "event_name": "gen_ai.evaluation.result",
        "trace_id": trace_id(1),
        "span_id": root_span,
        "gen_ai.evaluation.name": "non-empty-output",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.evaluation.explanation": "all is well",
        "tracejury.outcome": "score",
        "tracejury.rule": "default",
        "tracejury.revision": 1,
        "tracejury.target": "trace",
        "service.name": "tracejury",
        "tracejury.project": "default",
    }
    assert expected.items() <= record.items()
    assert len(record["tracejury.evaluator.fingerprint"]) > 10
    assert "error.type" not in record
    assert "tracejury.superseded" not in record


def test_a_failure_names_its_error_and_has_no_score(tmp_path: Path) -> None:
    with endpoint() as server, exporting(tmp_path, server.url) as export:
        judge(export.store, 1, 1, Failure("timeout", "took too long"))
        export.steps(1)
        (record,) = records_in(server.bodies)
    assert record["error.type"] == "timeout"
    assert record["gen_ai.evaluation.explanation"] == "took too long"
    assert not {"gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"} & set(record)


@pytest.mark.parametrize(("outcomes", "count"), [(["score", "failure"], 0), (["skip"], 1)])
def test_skips_are_sent_where_they_are_asked_for(
    tmp_path: Path, outcomes: list[str], count: int
) -> None:
    with endpoint() as server, exporting(tmp_path, server.url, outcomes=outcomes) as export:
        judge(export.store, 1, 1, Skip("nothing to judge"))
        export.steps(1)
        assert len(records_in(server.bodies)) == count
        assert export.mark().position == 1


@pytest.mark.parametrize(("rules", "count"), [(["default"], 1), (["other"], 0), (None, 1)])
def test_only_results_of_the_wanted_rules_are_sent(
    tmp_path: Path, rules: list[str] | None, count: int
) -> None:
    with endpoint() as server, exporting(tmp_path, server.url, rules=rules) as export:
        judge(export.store, 1, 1)
        export.steps(1)
        assert len(records_in(server.bodies)) == count


@pytest.mark.parametrize(("characters", "sent"), [(5, "ééééé"), (0, None)])
def test_reasons_are_cut_to_the_bound(tmp_path: Path, characters: int, sent: str | None) -> None:
    given = {"explanation_characters": characters}
    with endpoint() as server, exporting(tmp_path, server.url, **given) as export:
        judge(export.store, 1, 1, Score(value=0.0, verdict="fail", reason="é" * 5000))
        export.steps(1)
        (record,) = records_in(server.bodies)
    assert record.get("gen_ai.evaluation.explanation") == sent


def test_a_new_revision_is_sent_after_the_one_it_supersedes(tmp_path: Path) -> None:
    with endpoint() as server, exporting(tmp_path, server.url) as export:
        judge(export.store, 1, 1)
        export.steps(1)
        export.store.spans(child(1, 5))
        export.store.after(4)
        export.store.judge(Score(value=0.0, verdict="fail", reason="worse"))
        export.steps(1)
        records = records_in(server.bodies)
    assert [record["tracejury.revision"] for record in records] == [1, 2]
    assert [record["gen_ai.evaluation.score.value"] for record in records] == [1.0, 0.0]
    assert len({record["tracejury.result.id"] for record in records}) == 2


def test_what_waited_while_it_was_superseded_says_so(tmp_path: Path) -> None:
    with endpoint() as server, exporting(tmp_path, server.url) as export:
        judge(export.store, 1, 1)
        export.store.spans(child(1, 5))
        export.store.after(4)
        export.store.judge(PASS)
        export.steps(1)
        records = records_in(server.bodies)
    assert [record.get("tracejury.superseded") for record in records] == [True, None]


def test_results_come_in_requests_of_the_batch_each_once(tmp_path: Path) -> None:
    with endpoint() as server, exporting(tmp_path, server.url, batch=4) as export:
        judge(export.store, 1, 10)
        pauses = export.steps(4)
        sizes = [len(records_in([body])) for body in server.bodies]
        assert sizes == [4, 4, 2]
        assert sorted(ids(records_in(server.bodies))) == [trace_id(n) for n in range(1, 11)]
    assert pauses == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(("start", "count"), [("now", 1), ("beginning", 3)])
def test_the_first_export_begins_where_it_is_told(tmp_path: Path, start: str, count: int) -> None:
    with endpoint() as server:
        given = OtlpExportSettings.model_validate({"endpoint": server.url, "start": start})
        with bench(tmp_path, {"rules": {"default": {"evaluators": ["no-loops"]}}}) as store:
            judge(store, 1, 2)
            export = Export(store, given)
            export.steps(1)
            judge(store, 3, 3)
            export.steps(2)
            assert len(records_in(server.bodies)) == count


def test_a_restart_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with endpoint() as server, exporting(tmp_path, server.url, batch=2) as export:
        judge(export.store, 1, 3)
        export.steps(1)
        export.store.restart()
        judge(export.store, 4, 4)
        export.steps(3)
        assert sorted(ids(records_in(server.bodies))) == [trace_id(n) for n in range(1, 5)]


def test_a_kill_between_answer_and_mark_repeats_one_request(tmp_path: Path) -> None:
    with endpoint() as server, exporting(tmp_path, server.url, batch=2) as export:
        judge(export.store, 1, 6)
        before = export.mark()
        export.steps(1)
        _rewind(export, before)
        export.steps(4)
        records = records_in(server.bodies)
    assert len(records) == 8
    assert len({record["tracejury.result.id"] for record in records}) == 6
    assert records[:2] == records[2:4]


def _rewind(export: Export, mark: ExportMark) -> None:
    export.store.db.write(MarkWrite(mark)).result(10)


@pytest.mark.parametrize("status", [301, 401, 403, 404, 429, 500, 502, 503])
def test_what_may_be_taken_later_waits_and_says_why(tmp_path: Path, status: int) -> None:
    with endpoint() as server:
        # the last status stays: it is taken at the third attempt
        url = f"{server.url}/?status={status},{status},200"
        with exporting(tmp_path, url) as export:
            judge(export.store, 1, 1)
            (pause,) = export.steps(1)
            failing = export.mark()
            assert pause > 0.5
            assert (failing.position, failing.sent) == (0, 0)
            assert failing.failing_since_ns == export.store.clock.now_ns
            assert failing.last_error
            export.steps(2)
            done = export.mark()
        assert (done.sent, done.failing_since_ns, done.last_error) == (1, None, None)


def test_a_receiver_that_is_not_there_delays_only(tmp_path: Path) -> None:
    with exporting(tmp_path, "http://127.0.0.1:9") as export:
        judge(export.store, 1, 1)
        export.steps(1)
        assert "no answer" in (export.mark().last_error or "")
        assert export.mark().position == 0


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("wait=30", "within 0.5 s"),
        ("drip=1&status=503", "within 0.5 s"),
        ("body=long&times=100000&status=503", "503: 'long"),
    ],
)
def test_a_receiver_that_hangs_drips_or_floods_is_given_up(
    tmp_path: Path, query: str, error: str
) -> None:
    with (
        endpoint() as server,
        exporting(tmp_path, f"{server.url}/?{query}", timeout=0.5) as export,
    ):
        judge(export.store, 1, 1)
        export.steps(1)
        assert error in (export.mark().last_error or "")


def test_one_record_that_is_refused_costs_itself_alone(tmp_path: Path) -> None:
    class Picky(_Double):
        def answer(self, records: list[Record]) -> Accepted | Refused | Away:
            bad = any(record["trace_id"] == trace_id(3) for record in records)
            return Refused(reason="bad record") if bad else Accepted()

    double = Picky()
    with exporting(tmp_path, "http://127.0.0.1:9") as export:
        judge(export.store, 1, 6)
        _drive(export, double, 12)
        mark = export.mark()
    assert sorted(ids(double.taken)) == [trace_id(n) for n in (1, 2, 4, 5, 6)]
    assert (mark.sent, mark.rejected, mark.position) == (5, 1, 6)
    assert mark.last_error == "bad record"


def test_a_receiver_that_refuses_everything_stops_the_export(tmp_path: Path) -> None:
    class Wrong(_Double):
        def answer(self, records: list[Record]) -> Accepted | Refused | Away:
            return Refused(reason="not for me")

    with exporting(tmp_path, "http://127.0.0.1:9") as export:
        judge(export.store, 1, 4)
        _drive(export, Wrong(), 6)
        mark = export.mark()
    assert (mark.sent, mark.rejected, mark.position) == (0, 0, 0)
    assert "empty request" in (mark.last_error or "")


def test_records_that_the_receiver_rejects_are_counted(tmp_path: Path) -> None:
    with grpc_receiver() as receiver:
        receiver.rejects = 2
        with exporting(tmp_path, receiver.url, protocol="grpc") as export:
            judge(export.store, 1, 3)
            export.steps(1)
            mark = export.mark()
    assert (mark.sent, mark.rejected, mark.position) == (1, 2, 3)


def test_a_backlog_that_is_too_long_loses_its_oldest_and_counts_them(tmp_path: Path) -> None:
    with endpoint() as server, exporting(tmp_path, server.url, backlog=3) as export:
        judge(export.store, 1, 8)
        export.steps(1)
        mark = export.mark()
        records = records_in(server.bodies)
    assert (len(records), mark.sent, mark.dropped) == (3, 3, 5)


def test_grpc_carries_the_same_records_and_the_headers(tmp_path: Path) -> None:
    given = {"protocol": "grpc", "headers": {"Authorization": "Bearer secret"}}
    with grpc_receiver() as receiver, exporting(tmp_path, receiver.url, **given) as export:
        judge(export.store, 1, 2)
        export.steps(1)
        assert sorted(ids(receiver.records())) == [trace_id(1), trace_id(2)]
        assert receiver.metadata[0]["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    "code",
    [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNIMPLEMENTED],
)
def test_grpc_waits_where_it_may_be_taken_later(tmp_path: Path, code: grpc.StatusCode) -> None:
    with grpc_receiver() as receiver:
        receiver.codes = [code, grpc.StatusCode.OK]
        with exporting(tmp_path, receiver.url, protocol="grpc") as export:
            judge(export.store, 1, 1)
            export.steps(1)
            assert code.name in (export.mark().last_error or "")
            export.steps(1)
            assert len(receiver.records()) == 1


def test_headers_of_the_config_are_sent(tmp_path: Path) -> None:
    headers = {"x-key": "secret"}
    with endpoint() as server, exporting(tmp_path, server.url, headers=headers) as export:
        judge(export.store, 1, 1)
        export.steps(1)
        assert server.headers[0]["x-key"] == "secret"
        assert server.headers[0]["content-type"] == "application/x-protobuf"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://a:4318", "http://a:4318/v1/logs"),
        ("http://a:4318/", "http://a:4318/v1/logs"),
        ("https://a/otlp?x=1", "https://a/otlp/v1/logs?x=1"),
        ("https://a/v1/logs", "https://a/v1/logs"),
    ],
)
def test_the_path_of_the_signal_is_added_once(given: str, url: str) -> None:
    assert logs_url(given) == url


@pytest.mark.parametrize(
    ("target", "listen"),
    [
        ("http://127.0.0.1:4318", "127.0.0.1:4318"),
        ("http://localhost:4318/v1/logs", "127.0.0.1:4318"),
        ("http://0.0.0.0:4318", "127.0.0.1:4318"),
        ("http://127.0.0.1:4318", "0.0.0.0:4318"),
        ("http://[::1]:4318", "[::]:4318"),
    ],
)
def test_a_service_does_not_export_to_itself(target: str, listen: str) -> None:
    with pytest.raises(ConfigError, match="is this service"):
        refuse_itself(target, ["127.0.0.1:1", listen])


@pytest.mark.parametrize("target", ["http://127.0.0.1:4319", "http://192.0.2.7:4318"])
def test_other_receivers_are_fine(target: str) -> None:
    refuse_itself(target, ["127.0.0.1:4318", "0.0.0.0:4318"])


@pytest.mark.parametrize("failures", [1, 2, 5, 1000])
def test_pauses_grow_to_a_bound_and_heed_what_is_asked(failures: int) -> None:
    assert 0.8 * min(60, 2 ** (failures - 1)) <= pause_s(failures, None) <= 72
    assert pause_s(failures, 200.0) == 200.0
    assert pause_s(failures, math.inf) == 300.0


def test_an_answer_in_any_shape_has_a_meaning() -> None:
    assert answer_of_http(200, b"\xff\xff garbage", "", "") == Accepted()
    assert answer_of_http(204, b"", "", "") == Accepted()
    assert answer_of_http(503, b"", "", "7") == Away(reason="it answered with status 503", wait_s=7)
    assert answer_of_http(503, b"", "", "soon") == Away(reason="it answered with status 503")
    assert isinstance(answer_of_http(413, b"<html>", "", ""), Refused)
    moved = answer_of_http(302, b"", "http://169.254.169.254/", "")
    assert isinstance(moved, Away)
    assert "not followed" in moved.reason


class _Double:
    """A receiver in this process."""

    def __init__(self) -> None:
        self.taken: list[Record] = []

    def answer(self, records: list[Record]) -> Accepted | Refused | Away:
        raise NotImplementedError

    async def send(self, request: Any) -> Accepted | Refused | Away:
        records = list(records_of(request))
        answer = self.answer(records)
        if isinstance(answer, Accepted):
            self.taken += records
        return answer

    async def close(self) -> None:
        """Nothing is held."""


def _drive(export: Export, double: _Double, steps: int) -> None:
    async def run() -> None:
        exporter = Exporter(export.store.db, export.settings, double, "1", export.store.clock)
        for _ in range(steps):
            await exporter.step()

    asyncio.run(run())
