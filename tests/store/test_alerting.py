"""Alerts on a real database with a clock that tests set, and a webhook on the loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.endpoint import endpoint
from tests.helpers.worker import Bench, bench, root, trace_id
from tracejury.result import Score
from tracejury_collector.alerting.checking import Look, check_alerts, look
from tracejury_collector.alerting.courier import Courier
from tracejury_collector.alerting.watching import Watch
from tracejury_collector.alerts import AlertState
from tracejury_collector.config import AlertSpec, parse_config
from tracejury_collector.errors import ConfigError
from tracejury_collector.store.alerts import (
    KEPT_DELIVERIES,
    DeliveryWrite,
    ForgetWrite,
    NewDelivery,
    Waiting,
    alert_states,
)
from tracejury_collector.store.database import Database

OPEN = "SELECT trace_id, span_count FROM traces WHERE status = 'open'"
DELIVERIES = (
    "SELECT alert, event, status, attempts, http_status FROM alert_deliveries ORDER BY created_at"
)


@dataclass
class Alerting:
    """The watch and the courier of a store."""

    store: Bench
    alerts: Mapping[str, AlertSpec]

    def look(self) -> None:
        """Look at what is due and send what waits, as after a start."""
        asyncio.run(self._look())

    async def _look(self) -> None:
        webhooks = {name: spec.webhook for name, spec in self.alerts.items() if spec.webhook}
        courier = Courier(self.store.db, webhooks, self.store.clock)
        await Watch(self.store.db, self.alerts, courier.rouse, self.store.clock).tick()
        await courier.tick()

    def after(self, seconds: float) -> None:
        """Let time pass, then look."""
        self.store.clock.advance(seconds)
        self.look()

    def state(self, name: str = "open") -> AlertState:
        """Return what is known of an alert."""
        return alert_states(self.store.db)[name]


@contextmanager
def alerting(path: Path, url: str, **alerts: Mapping[str, Any]) -> Iterator[Alerting]:
    """Alerts whose messages go to `url`; the first is looked at every minute."""
    given = alerts or {"open": {"sql": OPEN}}
    told = {name: {"webhook": {"url": url}, "cooldown": "10m", **a} for name, a in given.items()}
    specs = parse_config({"alerts": told}).alerts
    with bench(path, {"rules": {}}) as store:
        yield Alerting(store, specs)


def posted(bodies: list[bytes]) -> list[tuple[str, str]]:
    """Return event and summary of each message."""
    found = [json.loads(body)["tracejury"] for body in bodies]
    return [(message["event"], message["summary"]) for message in found]


def test_an_alert_fires_once_and_says_when_it_is_over(tmp_path: Path) -> None:
    with endpoint() as hook, alerting(tmp_path, hook.url) as alerts:
        alerts.look()
        assert alerts.state().status == "ok"
        alerts.store.spans(root(1))
        alerts.after(60)
        alerts.after(60)
        assert alerts.state().status == "firing"
        alerts.store.after(4)
        alerts.after(60)
        assert alerts.state().status == "ok"
        told = posted(hook.bodies)
        assert [event for event, _ in told] == ["firing", "resolved"]
        assert told[0][1].startswith("1 row: trace_id 0")
        assert alerts.store.rows(DELIVERIES) == [
            ("open", "firing", "delivered", 1, 200),
            ("open", "resolved", "delivered", 1, 200),
        ]


def test_a_message_is_json_that_slack_reads(tmp_path: Path) -> None:
    with endpoint() as hook, alerting(tmp_path, hook.url) as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        body = json.loads(hook.bodies[0])
        assert hook.headers[0]["content-type"] == "application/json"
        assert set(body) == {"text", "blocks", "tracejury"}
        assert body["text"].startswith("Alert: open: 1 row")


def test_it_is_looked_at_no_more_often_than_told(tmp_path: Path) -> None:
    with endpoint() as hook, alerting(tmp_path, hook.url) as alerts:
        alerts.look()
        first = alerts.state().checked_at_ns
        alerts.after(59)
        assert alerts.state().checked_at_ns == first
        alerts.after(1)
        assert alerts.state().checked_at_ns == alerts.store.clock.now_ns


def test_states_and_cool_down_outlive_a_restart(tmp_path: Path) -> None:
    with endpoint() as hook, alerting(tmp_path, hook.url) as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        since_ns = alerts.state().since_ns
        alerts.store.restart()
        alerts.after(60)
        assert alerts.state().since_ns == since_ns
        assert len(hook.bodies) == 1
        alerts.after(600)
        assert [event for event, _ in posted(hook.bodies)] == ["firing", "reminder"]


def test_a_message_that_was_not_sent_before_a_kill_is_sent_after(tmp_path: Path) -> None:
    with endpoint() as hook, alerting(tmp_path, hook.url) as alerts:
        alerts.store.spans(root(1))
        watch = Watch(alerts.store.db, alerts.alerts, lambda: None, alerts.store.clock)
        asyncio.run(watch.tick())
        assert hook.bodies == []
        alerts.store.restart()
        alerts.look()
        assert [event for event, _ in posted(hook.bodies)] == ["firing"]


def test_a_kill_before_the_answer_is_noted_repeats_the_message_with_its_id(tmp_path: Path) -> None:
    with endpoint() as hook, alerting(tmp_path, hook.url) as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        again = "UPDATE base.alert_deliveries SET status = 'waiting', next_attempt_at = created_at"
        alerts.store.db.write(lambda connection: connection.execute(again)).result(10)
        alerts.store.restart()
        alerts.look()
        assert len(hook.bodies) == 2
        assert hook.bodies[0] == hook.bodies[1]


@pytest.mark.parametrize("answers", ["500,200", "404,200", "302,200", "429,200"])
def test_a_webhook_that_refuses_is_asked_again(tmp_path: Path, answers: str) -> None:
    with endpoint() as hook, alerting(tmp_path, f"{hook.url}/?status={answers}") as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        (row,) = alerts.store.rows(DELIVERIES)
        assert row == ("open", "firing", "waiting", 1, int(answers[:3]))
        alerts.after(1)
        assert len(hook.bodies) == 1
        alerts.after(1)
        assert alerts.store.rows(DELIVERIES) == [("open", "firing", "delivered", 2, 200)]


def test_redirects_are_not_followed_and_secrets_stay_out_of_the_log(tmp_path: Path) -> None:
    with endpoint() as other, endpoint() as hook:
        url = f"{hook.url}/T0/secret?status=302&header=location:{other.url}/token"
        with alerting(tmp_path, url) as alerts:
            alerts.store.spans(root(1))
            alerts.look()
            rows = alerts.store.rows("FROM alert_deliveries")
        assert other.bodies == []
        assert "secret" not in str(rows)
        assert "token" not in str(rows)


def test_a_webhook_that_is_not_there_names_no_secret(tmp_path: Path) -> None:
    with alerting(tmp_path, "http://127.0.0.1:9/services/secret") as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        ((error,),) = alerts.store.rows("SELECT error FROM alert_deliveries")
        assert "no answer" in error
        assert "secret" not in error


def test_messages_of_an_alert_keep_their_order(tmp_path: Path) -> None:
    with endpoint() as hook, alerting(tmp_path, f"{hook.url}/?status=500,500,200") as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        alerts.store.after(4)
        alerts.after(60)
        for _ in range(4):
            alerts.after(60)
        delivered = posted(hook.bodies)[2:]
        assert [event for event, _ in delivered] == ["firing", "resolved"]


def test_a_webhook_that_hangs_delays_no_other(tmp_path: Path) -> None:
    with endpoint() as hook, endpoint() as slow:
        alerts: dict[str, Any] = {
            "slow": {"sql": OPEN, "webhook": {"url": f"{slow.url}/?wait=60"}},
            "open": {"sql": OPEN},
        }
        with alerting(tmp_path, hook.url, **alerts) as both:
            both.store.spans(root(1))
            _run_until(both, lambda: bool(hook.bodies and slow.bodies))
            assert [event for event, _ in posted(hook.bodies)] == ["firing"]
        slow.closing.set()


def _run_until(alerts: Alerting, condition: Callable[[], bool]) -> None:
    """Run watch and courier as the service does until the condition holds, then stop them."""

    async def run() -> None:
        stop = asyncio.Event()
        webhooks = {name: spec.webhook for name, spec in alerts.alerts.items() if spec.webhook}
        courier = Courier(alerts.store.db, webhooks, alerts.store.clock)
        watch = Watch(alerts.store.db, alerts.alerts, courier.rouse, alerts.store.clock)
        tasks = [asyncio.create_task(part.run(stop)) for part in (watch, courier)]
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.02)
        stop.set()
        courier.rouse()
        await asyncio.gather(*tasks)

    asyncio.run(run())


def test_a_query_that_fails_shows_why_and_tells_nobody(tmp_path: Path) -> None:
    broken = {"broken": {"sql": "SELECT 1 FROM traces WHERE error('the sky fell') = 1"}}
    with endpoint() as hook, alerting(tmp_path, hook.url, **broken) as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        assert "the sky fell" in (alerts.state("broken").error or "")
        assert alerts.state("broken").status == "ok"
        assert hook.bodies == []


def test_one_broken_alert_does_not_stop_the_others(tmp_path: Path) -> None:
    both = {"a": {"sql": "SELECT 1 WHERE error('x') = 1"}, "open": {"sql": OPEN}}
    with endpoint() as hook, alerting(tmp_path, hook.url, **both) as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        assert alerts.state("open").status == "firing"


@pytest.mark.parametrize(
    "error", [duckdb.OutOfMemoryException("too large"), duckdb.InternalException("odd")]
)
def test_a_look_that_breaks_the_query_is_told_of_that_alert_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(db: Database, spec: AlertSpec, now_ns: int) -> Look:
        if spec.sql == "SELECT 1":
            raise error
        return look(db, spec, now_ns)

    monkeypatch.setattr("tracejury_collector.alerting.watching.look", broken)
    with alerting(tmp_path, "http://127.0.0.1:9", a={"sql": "SELECT 1"}, b={"sql": OPEN}) as both:
        both.store.spans(root(1))
        both.look()
        assert str(error) in (both.state("a").error or "")
        assert both.state("b").status == "firing"


def test_what_was_delivered_while_the_rest_was_read_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint() as hook, alerting(tmp_path, hook.url) as alerts:
        alerts.store.spans(root(1))
        webhooks = {name: spec.webhook for name, spec in alerts.alerts.items() if spec.webhook}
        courier = Courier(alerts.store.db, webhooks, alerts.store.clock)

        async def look_twice() -> None:
            await Watch(alerts.store.db, alerts.alerts, courier.rouse, alerts.store.clock).tick()
            waiting = await courier._due()

            async def read_before_it_was_sent() -> list[Waiting]:
                await asyncio.gather(*courier._on_the_way.values())
                return waiting

            await courier._start_what_is_due()
            monkeypatch.setattr(courier, "_due", read_before_it_was_sent)
            await courier.tick()

        asyncio.run(look_twice())
        assert len(hook.bodies) == 1


def test_an_alert_without_a_webhook_is_only_shown(tmp_path: Path) -> None:
    with alerting(tmp_path, "http://127.0.0.1:9", open={"sql": OPEN, "webhook": None}) as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        assert alerts.state().status == "firing"
        assert alerts.store.rows(DELIVERIES) == []


def test_rows_that_are_too_many_or_too_large_are_cut(tmp_path: Path) -> None:
    large = {"large": {"sql": "SELECT string_agg(range::VARCHAR) AS x FROM range(400000)"}}
    many = {"many": {"sql": "SELECT range AS n FROM range(100000)"}}
    with endpoint() as hook, alerting(tmp_path, hook.url, **large, **many) as alerts:
        alerts.look()
        assert alerts.state("large").status == alerts.state("many").status == "firing"
        assert alerts.state("many").summary == "more than 10 rows: n 0"
        assert all(len(body) < 20_000 for body in hook.bodies)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM traces", "alerts.a.sql"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT nothing FROM traces", "nothing"),
        ("FROM read_csv('/etc/passwd')", "read_csv"),
        ("SELECT * FROM base.results", "base"),
        ("EXPLAIN SELECT 1", "alerts.a.sql"),
        ("SELECT repeat('x', 10)", "repeat"),
    ],
)
def test_conditions_pass_the_door_of_sql(sql: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_alerts(parse_config({"alerts": {"a": {"sql": sql}}}).alerts)


def test_alerts_that_are_no_longer_configured_are_forgotten(tmp_path: Path) -> None:
    with endpoint() as hook, alerting(tmp_path, f"{hook.url}/?status=500") as alerts:
        alerts.store.spans(root(1))
        alerts.look()
        forget = ForgetWrite([], [], alerts.store.clock.now_ns)
        alerts.store.db.write(forget).result(10)
        assert alert_states(alerts.store.db) == {}
        assert alerts.store.rows("SELECT status, error FROM alert_deliveries") == [
            ("failed", "the alert, or its webhook, is no longer configured")
        ]


def test_the_log_of_deliveries_is_bounded(tmp_path: Path) -> None:
    with alerting(tmp_path, "http://127.0.0.1:9") as alerts:
        fill = (
            "INSERT INTO base.alert_deliveries "
            "SELECT 'd' || range, 'a', 'firing', '', '{}', 'delivered', 1, 200, NULL, "
            f"make_timestamp_ns(range), NULL, NULL FROM range({KEPT_DELIVERIES + 500})"
        )
        alerts.store.db.write(lambda connection: connection.execute(fill)).result(10)
        new = NewDelivery(
            delivery_id="new",
            alert="open",
            event="test",
            summary="",
            body={},
            created_at_ns=alerts.store.clock.now_ns,
        )
        alerts.store.db.write(DeliveryWrite(new)).result(10)
        ((count, kept),) = alerts.store.rows(
            "SELECT count(*), count_if(delivery_id = 'new') FROM alert_deliveries"
        )
        assert KEPT_DELIVERIES <= count <= KEPT_DELIVERIES + 1
        assert kept == 1


def test_a_database_that_is_away_only_delays(tmp_path: Path) -> None:
    with alerting(tmp_path, "http://127.0.0.1:9") as alerts:
        closed = threading.Event()
        alerts.store.db.close()
        closed.set()
        alerts.look()
        alerts.store.open()
        alerts.look()
        assert alerts.state().status == "ok"


def judged(alerts: Alerting, first: int, passing: int, failing: int) -> None:
    """Have runs judged of which so many pass."""
    for number in range(first, first + passing + failing):
        alerts.store.spans(root(number))
    alerts.store.clock.advance(4)
    while alerts.store.worker.tick():
        pass
    alerts.store.judge(Score(value=1.0, verdict="pass", reason=""))
    failed = [trace_id(number) for number in range(first + passing, first + passing + failing)]
    fail = "UPDATE base.results SET verdict = 'fail' WHERE list_contains(?, trace_id)"
    alerts.store.db.write(lambda connection: connection.execute(fail, [failed])).result(10)


@contextmanager
def rated(path: Path, url: str, **settings: Any) -> Iterator[Alerting]:
    """An alert on the pass rate of the one rule."""
    given = {"below": 0.9, "min_judged": 10, "since": "1h", **settings}
    alert = {"pass_rate": given, "webhook": {"url": url}}
    specs = parse_config({"alerts": {"quality": alert}}).alerts
    rules = {"rules": {"default": {"evaluators": ["non-empty-output"]}}}
    with bench(path, rules) as store:
        yield Alerting(store, specs)


def test_a_pass_rate_below_the_bound_fires_and_recovers(tmp_path: Path) -> None:
    with endpoint() as hook, rated(tmp_path, hook.url) as alerts:
        judged(alerts, 1, 6, 6)
        alerts.look()
        assert alerts.state("quality").status == "firing"
        judged(alerts, 100, 100, 0)
        alerts.after(60)
        assert alerts.state("quality").status == "ok"
        (fired, row), (over, summary) = posted(hook.bodies)
        assert (fired, over) == ("firing", "resolved")
        assert row.startswith("1 row: rule default, evaluator non-empty-output, pass_rate 0.5")
        assert summary.startswith("none of 1 below 0.9; the lowest is 0.946 (")
        data = json.loads(hook.bodies[0])["tracejury"]["rows"][0]
        assert (data["pass_rate"], data["judged"]) == (0.5, 12)
        assert 0 < data["low"] < 0.5 < data["high"] < 1


def test_too_few_judged_runs_change_nothing(tmp_path: Path) -> None:
    with endpoint() as hook, rated(tmp_path, hook.url) as alerts:
        judged(alerts, 1, 0, 9)
        alerts.look()
        state = alerts.state("quality")
        assert (state.status, state.error) == ("ok", None)
        assert state.summary == "9 judged, fewer than 10: too few to tell"
        judged(alerts, 100, 0, 1)
        alerts.after(60)
        assert alerts.state("quality").status == "firing"
        alerts.after(7200)
        assert alerts.state("quality").status == "firing"
        assert alerts.state("quality").summary == "0 judged, fewer than 10: too few to tell"


@pytest.mark.parametrize(("passing", "status"), [(17, "ok"), (5, "firing")])
def test_a_confident_alert_waits_for_the_whole_interval(
    tmp_path: Path, passing: int, status: str
) -> None:
    with endpoint() as hook, rated(tmp_path, hook.url, confident=True) as alerts:
        judged(alerts, 1, passing, 20 - passing)
        alerts.look()
        assert alerts.state("quality").status == status


@pytest.mark.parametrize(
    ("only", "status"),
    [
        ({"rule": "default"}, "firing"),
        ({"rule": "other"}, "ok"),
        ({"evaluator": "non-empty-output"}, "firing"),
        ({"evaluator": "other"}, "ok"),
    ],
)
def test_only_the_named_rule_and_evaluator_count(
    tmp_path: Path, only: dict[str, str], status: str
) -> None:
    with endpoint() as hook, rated(tmp_path, hook.url, **only) as alerts:
        judged(alerts, 1, 0, 12)
        alerts.look()
        assert alerts.state("quality").status == status
