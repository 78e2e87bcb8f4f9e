"""Pass rates and agreement in the API, the client and the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.helpers.api import START_NS, Api
from tests.helpers.judged import Decided, insert_decided
from tracejury.cli import app
from tracejury.client import Client

DAY = "2026-09-21"


def decide(api: Api, *decided: Decided) -> None:
    api.context.db.write(lambda connection: insert_decided(connection, decided)).result(10)


def label(api: Api, number: int, verdict: str | None, **values: Any) -> None:
    row = {
        "label_id": f"l{number}", "trace_id": f"{number:032x}", "name": "helpful",
        "verdict": verdict, "score": None, "source": "api", "at": START_NS, **values,
    }  # fmt: skip
    at = row.pop("at")
    sql = (
        f"INSERT INTO base.labels ({', '.join(row)}, created_at, received_at) "
        f"VALUES ({', '.join('?' for _ in row)}, make_timestamp_ns({at}), make_timestamp_ns({at}))"
    )
    api.context.db.write(lambda connection: connection.execute(sql, list(row.values()))).result(10)


def run(*args: str) -> str:
    result = CliRunner(env={"COLUMNS": "100", "TRACEJURY_URL": ""}).invoke(app, args)
    assert result.exit_code == 0, result.output
    return result.output


def test_pass_rates_carry_their_keys_interval_and_what_is_excluded(api: Api) -> None:
    decide(
        api,
        Decided(number=1, probability=0.1),
        Decided(number=2, verdict="fail"),
        Decided(number=3, found="skip"),
        Decided(number=4, outcome="sampled_out"),
    )
    (item,) = api.get("/api/pass-rates", by="rule,service")["items"]
    assert item["pass_rate"] == pytest.approx(10 / 11)
    assert item["low"] < item["pass_rate"] < item["high"]
    assert (item["rule"], item["evaluator"], item["service"]) == ("live", "check", "booking")
    assert (item["judged"], item["passed"], item["traffic"]) == (2, 1, 4)
    assert item["excluded"]["count"] == 1
    assert item["excluded"]["reasons"]["skipped"] == {"count": 1, "share": pytest.approx(1 / 3)}
    assert "model" not in item


def test_time_buckets_are_times_and_an_empty_one_is_not_made_up(api: Api) -> None:
    decide(api, Decided(number=1), Decided(number=2, at_ns=START_NS + 3 * 3600 * 10**9))
    items = api.get("/api/pass-rates", by="bucket", bucket="1h")["items"]
    assert [item["bucket"] for item in items] == [
        f"{DAY}T14:00:00.000000000Z",
        f"{DAY}T17:00:00.000000000Z",
    ]
    assert len(api.get("/api/pass-rates", by="bucket", bucket="1d")["items"]) == 1


def test_without_decisions_there_are_no_rates(api: Api) -> None:
    assert api.get("/api/pass-rates") == {"items": [], "next_cursor": None, "truncated": False}
    assert api.get("/api/agreement")["items"] == []


def test_more_rates_than_the_limit_are_said_to_be_there(api: Api) -> None:
    decide(api, *(Decided(number=n, service=f"s{n}") for n in range(3)))
    page = api.get("/api/pass-rates", by="service", limit=2)
    assert (len(page["items"]), page["truncated"]) == (2, True)


@pytest.mark.parametrize(
    ("params", "status", "word"),
    [
        ({"by": "colour"}, 400, "colour"),
        ({"bucket": "0h"}, 400, "bucket"),
        ({"bucket": "soon"}, 400, "bucket"),
        ({"since": "yesterday"}, 400, "since"),
        ({"limit": 0}, 422, "limit"),
        ({"colour": "red"}, 422, "colour"),
    ],
)
def test_wrong_parameters_are_named(
    api: Api, params: dict[str, Any], status: int, word: str
) -> None:
    answer = api.http.get("/api/pass-rates", params=params)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert word in answer.json()["detail"]


def agreed(api: Api) -> None:
    """Six traces with verdicts and labels: one wrongly found, one missed."""
    judged = ("pass", "pass", "pass", "fail", "fail", "partial")
    truth = ("pass", "pass", "fail", "fail", "pass", "partial")
    decide(api, *(Decided(number=n, verdict=v) for n, v in enumerate(judged)))
    for number, verdict in enumerate(truth):
        label(api, number, verdict)


def test_agreement_counts_finds_and_corrects(api: Api) -> None:
    agreed(api)
    (item,) = api.get("/api/agreement", evaluator="check", label="helpful")["items"]
    assert item["confusion"] == {
        "rightly_found": 2, "wrongly_found": 1, "missed": 1, "rightly_passed": 2,
    }  # fmt: skip
    assert item["precision"]["value"] == item["recall"]["value"] == pytest.approx(2 / 3)
    assert item["kappa"] == pytest.approx(1 / 3)
    assert sorted(item["differing"]) == [f"{2:032x}", f"{4:032x}"]
    (rate,) = item["pass_rates"]
    assert (rate["rule"], rate["judged"]["value"]) == ("live", 0.5)
    assert rate["corrected"]["value"] == pytest.approx(0.5)


def test_labels_on_passed_traces_alone_correct_nothing_and_say_so(api: Api) -> None:
    decide(api, Decided(number=1), Decided(number=2, verdict="fail"))
    label(api, 1, "pass")
    (item,) = api.get("/api/agreement")["items"]
    assert (item["kappa"], item["precision"], item["recall"]) == (None, None, None)
    (rate,) = item["pass_rates"]
    assert rate["corrected"] is None
    assert "label some of each" in rate["reason"]


def test_the_newest_label_counts_and_scores_become_verdicts(api: Api) -> None:
    decide(api, Decided(number=1), Decided(number=2))
    label(api, 1, "fail", label_id="old")
    label(api, 1, None, score=1.0, at=START_NS + 1)
    label(api, 2, None, score=0.4)
    (item,) = api.get("/api/agreement")["items"]
    assert (item["confusion"]["rightly_passed"], item["confusion"]["missed"]) == (1, 1)


def test_labels_that_say_neither_score_nor_verdict_are_left_out(api: Api) -> None:
    decide(api, Decided(number=1))
    label(api, 1, None, value=7.0)
    assert api.get("/api/agreement")["items"] == []


def test_a_trace_that_several_rules_judged_is_one_pair(api: Api) -> None:
    decide(
        api,
        Decided(number=1, run_id="backfill", rule_version="b", verdict="fail"),
        Decided(number=1, probability=0.5),
        Decided(number=1, superseded=True, revision=0, verdict="fail"),
    )
    label(api, 1, "pass")
    (item,) = api.get("/api/agreement")["items"]
    assert (item["n"], item["confusion"]["rightly_passed"]) == (1, 1)


def test_sessions_are_held_to_labels_on_sessions(api: Api) -> None:
    decide(
        api,
        Decided(number=1, target="session", sampled_by="session", session_id="a", verdict="fail"),
        Decided(number=2, target="session", sampled_by="session", session_id="b"),
        Decided(number=3, session_id="a"),
    )
    label(api, 1, "pass", trace_id=None, session_id="a")
    label(api, 2, "fail", trace_id=None, session_id="b", project="another")
    (item,) = api.get("/api/agreement")["items"]
    assert (item["n"], item["differing"]) == (1, ["a"])


def test_versions_of_an_evaluator_are_compared_apart(api: Api) -> None:
    decide(
        api,
        Decided(number=1, verdict="fail"),
        Decided(number=2, version="v2", rule_version="r2"),
    )
    for number in (1, 2):
        label(api, number, "pass")
    items = api.get("/api/agreement")["items"]
    assert [(item["fingerprint"], item["n"]) for item in items] == [("v1", 1), ("v2", 1)]


def test_the_client_reads_both(api: Api, url: str) -> None:
    agreed(api)
    with Client(url) as client:
        assert client.pass_rates(by=["service"]).items[0].judged == 6
        assert client.agreement(label="helpful")[0].n == 6


def test_commands_show_rates_and_agreement(api: Api, url: str) -> None:
    assert "no pass rates" in run("pass-rates", "--url", url)
    assert "no trace has both" in run("agreement", "--url", url)
    agreed(api)
    decide(api, Decided(number=50, found="skip"))
    shown = run("pass-rates", "--by", "service", "--url", url)
    assert "booking" in shown
    assert "50.0 %" in shown
    assert "1 (14.3 %)" in shown
    shown = run("agreement", "--url", url)
    assert "kappa 0.33" in shown
    assert "precision 66.7 %" in shown
    assert f"{2:032x}" in shown
    for command in ("pass-rates", "agreement"):
        assert json.loads(run(command, "--json", "--url", url))["items"]


def test_a_key_that_is_not_known_is_wrong_use(url: str) -> None:
    result = CliRunner().invoke(app, ["pass-rates", "--by", "colour", "--url", url])
    assert result.exit_code == 2
    assert "colour" in result.stderr
