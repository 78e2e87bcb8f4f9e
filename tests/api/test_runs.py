"""Runs over the API and the command line: asked for, estimated, followed, canceled."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.api import Api, agent_run, running_api, served
from tests.helpers.databases import fetch
from tracejury.cli import app
from tracejury.client import Client
from tracejury.errors import UnreachableError
from tracejury_collector.store.runs import end_run

SETTINGS: dict[str, Any] = {
    "evaluators": {"short": {"type": "word-count", "config": {"max_words": 5}}},
    "rules": {
        "live": {"evaluators": ["no-loops"]},
        "rare": {"sample": {"rate": 0}, "evaluators": ["short"]},
    },
}
CANDIDATE = {"type": "word-count", "config": {"max_words": 9}}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    """The API over four finished traces that wait for the jury."""
    with running_api(tmp_path, **SETTINGS) as running:
        running.store(*(span for n in range(1, 5) for span in agent_run(n)))
        running.finish()
        yield running


@pytest.fixture
def url(api: Api) -> Iterator[str]:
    """The address of the API on a real port."""
    with served(api) as address:
        yield address


def decide(api: Api) -> None:
    api.clock.now_ns += 1_000_000
    while api.driver.step():
        pass


def judge(api: Api, verdicts: dict[str, str] | None = None) -> None:
    """Give every job a result: what `verdicts` says of an evaluator, else pass."""
    verdict = json.dumps(verdicts or {})
    api.clock.now_ns += 1_000_000
    sql = f"""
    INSERT INTO base.results BY NAME
    SELECT * EXCLUDE (evaluators, fingerprints, decided_at, first_seq, last_seq, pair),
        pair.e AS evaluator, split_part(pair.f, '+', 1) AS fingerprint,
        split_part(pair.f, '+', 2) AS criteria_hash, '' AS case_id, 'word-count' AS type,
        CASE WHEN run_id = '' THEN 'live' ELSE 'on_demand' END AS trigger, 'score' AS outcome,
        coalesce('{verdict}'::JSON ->> pair.e, 'pass') AS verdict, 1.0 AS score, '' AS reason,
        [] AS hits, [] AS misses, '{{}}' AS details, [] AS evidence, false AS superseded,
        make_timestamp_ns({api.clock.now_ns}) AS created_at
    FROM (
        SELECT * EXCLUDE (attempts), unnest(list_transform(
            list_zip(evaluators, fingerprints), x -> {{e: x[1], f: x[2]}})) AS pair
        FROM (SELECT *, 0 AS attempts FROM base.jobs)
    )
    """

    def write(connection: Any) -> None:
        connection.execute(sql)
        connection.execute("DELETE FROM base.jobs")

    api.context.db.write(write).result(10)


def post(api: Api, status: int = 202, **body: Any) -> Any:
    answer = api.http.post("/api/runs", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_run_is_begun_followed_and_done(api: Api) -> None:
    judge(api)
    answer = api.http.post("/api/runs", json={"rule": "live", "rejudge": True})
    run = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/api/runs/{run['run_id']}"
    assert (run["state"], run["total"], run["progress"]) == ("running", 4, 0.0)
    decide(api)
    assert api.get(f"/api/runs/{run['run_id']}")["to_judge"] == 4
    judge(api)
    decide(api)
    done = api.get(f"/api/runs/{run['run_id']}")
    assert (done["state"], done["judged"], done["progress"]) == ("done", 4, 1.0)
    assert done["counts"]["outcomes"] == {"selected": 4}
    assert [(e["name"], e["passed"]) for e in done["evaluators"]] == [("no-loops", 4)]
    assert done["finished_at"] > done["created_at"]
    story = api.get(f"/api/traces/{1:032x}/explain")
    assert {d["run_id"] for d in story["decisions"]} == {"", run["run_id"]}


def test_a_dry_run_says_what_it_would_do_and_cost(api: Api) -> None:
    judge(api)
    found = post(api, 200, rule="live", rate=1.0, dry_run=True)
    assert (found["total"], found["complete"], found["to_judge"]) == (4, True, 0)
    assert found["evaluators"][0]["judged_already"] == 4
    found = post(api, 200, evaluators=["short"], where="has_error OR true", dry_run=True)
    assert (found["to_judge"], found["cost_usd"]) == (4, 0.0)
    assert api.get("/api/runs")["items"] == []


def test_a_rule_on_sessions_has_the_past_judged_as_a_whole(tmp_path: Path) -> None:
    whole = {"target": "session", "evaluators": ["short"], "sample": {"rate": 0}}
    with running_api(tmp_path, **{**SETTINGS, "rules": {"whole": whole}}) as api:
        api.store(*(s for n in (1, 2) for s in agent_run(n)))
        api.finish()
        api.clock.now_ns += 1_000_000_000_000
        api.finish()
        asked: dict[str, Any] = {"rule": "whole", "rate": 1.0, "where": "session_id = 'session-1'"}
        found = post(api, 200, **asked, dry_run=True)
        assert (found["target"], found["total"], found["to_judge"]) == ("session", 2, 1)
        run_id = post(api, **asked)["run_id"]
        decide(api)
        shown = api.get(f"/api/runs/{run_id}")
        assert (shown["target"], shown["to_judge"]) == ("session", 1)
        judge(api)
        with served(api) as url:
            told = run("runs", run_id, "--url", url).stdout
        assert "2 of 2 sessions looked at, the condition holds for 1" in told


def test_a_shadow_run_compares_a_candidate_on_the_same_traces(api: Api) -> None:
    run = post(api, shadow={"evaluator": "short", "candidate": CANDIDATE})
    decide(api)
    judge(api)
    second = post(api, shadow={"evaluator": "short", "candidate": CANDIDATE}, rejudge=True)
    decide(api)
    judge(api, {"short@candidate": "fail"})
    decide(api)
    first = api.get(f"/api/runs/{run['run_id']}")["comparison"]
    assert (first["compared"], first["agreed"]["value"]) == (4, 1.0) or first["changed_count"]
    found = api.get(f"/api/runs/{second['run_id']}")
    assert [e["name"] for e in found["evaluators"]] == ["short", "short@candidate"]
    compared = found["comparison"]
    assert (compared["compared"], compared["agreed"]["value"]) == (4, 0.0)
    assert (compared["only_evaluator_passed"], compared["changed_count"]) == (4, 4)
    assert {change["trace_id"] for change in compared["changed"]} == {
        f"{n:032x}" for n in range(1, 5)
    }
    assert compared["changed"][0]["candidate_verdict"] == "fail"
    assert "comparison" not in post(api, 200, rule="live", dry_run=True)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 422, "one of them"),
        ({"rule": "live", "evaluators": ["short"]}, 422, "one of them"),
        ({"rule": "lvie"}, 404, "'live'"),
        ({"evaluators": ["nobody"]}, 404, "'short'"),
        ({"rule": "live", "where": "nope = 1"}, 422, "nope"),
        ({"rule": "live", "where": "(SELECT true FROM spans)"}, 422, "where"),
        ({"rule": "live", "rate": 0}, 422, "rate"),
        ({"rule": "live", "rate": 2}, 422, "rate"),
        ({"rule": "live", "since": "yesterday"}, 400, "since"),
        ({"rule": "live", "trace_ids": []}, 422, "trace_ids"),
        ({"rule": "live", "trace_ids": ["ab" * 16]}, 404, "no finished trace"),
        ({"rule": "live", "trace_ids": [f"{1:032x}"], "where": "true AND true"}, 422, "ids alone"),
        ({"rule": "live", "dryrun": True}, 422, "dryrun"),
        ({"shadow": {"evaluator": "short"}}, 422, "candidate"),
        ({"shadow": {"evaluator": "short", "candidate": {"type": "nothing"}}}, 422, "nothing"),
        (
            {"shadow": {"evaluator": "short", "candidate": {**CANDIDATE, "config": {"max": 1}}}},
            422,
            "max",
        ),
        (
            {"shadow": {"evaluator": "short", "candidate": SETTINGS["evaluators"]["short"]}},
            422,
            "the same evaluator",
        ),
    ],
)
def test_what_cannot_be_run_is_a_problem_that_names_it(
    api: Api, body: dict[str, Any], status: int, said: str
) -> None:
    problem = post(api, status, **body)
    assert said in problem["detail"], problem
    assert problem["remedy"]
    assert api.get("/api/runs")["items"] == []


def test_ids_choose_traces_whatever_their_case(api: Api) -> None:
    run = post(api, evaluators=["short"], trace_ids=[f"{3:032X}", f"{3:032x}"])
    decide(api)
    shown = api.get(f"/api/runs/{run['run_id']}")
    assert (shown["trace_ids"], shown["total"], shown["to_judge"]) == (1, 1, 1)


def test_a_canceled_run_stays_as_it_is(api: Api) -> None:
    run = post(api, evaluators=["short"])
    decide(api)
    assert "tracejury_runs 1.0" in _metrics(api)
    assert "tracejury_run_jobs 4.0" in _metrics(api)
    canceled = api.http.delete(f"/api/runs/{run['run_id']}").json()
    assert "tracejury_runs 0.0" in _metrics(api)
    story = api.get(f"/api/traces/{1:032x}/explain")["lines"]
    assert any("short: not judged, its run was ended before" in line for line in story)
    assert any(f"in run {run['run_id']}: selected" in line for line in story)
    assert canceled["state"] == "canceled"
    assert api.http.delete(f"/api/runs/{run['run_id']}").json() == canceled
    assert fetch(api.context.db, "SELECT count(*) FROM base.jobs WHERE run_id <> ''") == [(0,)]
    for method in ("GET", "DELETE"):
        assert api.http.request(method, "/api/runs/run-0").status_code == 404
    assert api.http.get("/api/runs/run-0/events").status_code == 404


def _metrics(api: Api) -> str:
    lines = api.http.get("/metrics").text.splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def test_runs_are_paged_and_filtered(api: Api) -> None:
    begun = []
    for rule in ("live", "rare", "live"):
        api.clock.now_ns += 1_000_000_000
        begun.append(post(api, rule=rule)["run_id"])
    page = api.get("/api/runs", limit=2)
    assert [run["run_id"] for run in page["items"]] == begun[:0:-1]
    rest = api.get("/api/runs", limit=2, cursor=page["next_cursor"])
    assert ([run["run_id"] for run in rest["items"]], rest["next_cursor"]) == (begun[:1], None)
    assert [r["run_id"] for r in api.get("/api/runs", rule="rare")["items"]] == [begun[1]]
    assert api.get("/api/runs", state="done")["items"] == []


def test_events_tell_of_a_run_until_its_end(api: Api, url: str) -> None:
    run_id = post(api, evaluators=["short"])["run_id"]
    with Client(url) as client:
        told = client.follow_run(run_id)
        assert next(told).to_judge == 0
        decide(api)
        assert next(told).to_judge == 4
        judge(api)
        decide(api)
        *_, last = told
    assert (last.state, last.judged) == ("done", 4)


def test_a_service_that_stays_away_ends_the_following(api: Api) -> None:
    with served(api) as url:
        run_id = post(api, evaluators=["short"])["run_id"]
        with Client(url) as client:
            assert client.run(run_id).state == "running"
    with Client(url) as client, pytest.raises(UnreachableError):
        next(client.follow_run(run_id, patience_s=0.0))


def run(*args: str, **options: Any) -> Result:
    return CliRunner(env={"COLUMNS": "80", "TRACEJURY_URL": ""}).invoke(app, args, **options)


@contextmanager
def driven(api: Api) -> Iterator[None]:
    """Decide and judge beside, as the service does."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.02):
            decide(api)
            judge(api)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_evaluate_judges_history_and_waits_for_the_end(api: Api, url: str) -> None:
    judge(api)
    with driven(api):
        result = run("evaluate", "--rule", "live", "--rejudge", "--yes", "--url", url)
    assert result.exit_code == 0, result.output
    assert "4 of 4 judgements made" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_evaluate_first_says_what_it_takes(api: Api, url: str) -> None:
    args = ("evaluate", "--evaluator", "short", "--where", "NOT has_error", "--url", url)
    result = run(*args, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "4 judgements for about $0" in result.stdout
    estimate = json.loads(run(*args, "--dry-run", "--json").stdout)
    assert estimate["to_judge"] == 4
    refused = run(*args)
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    assert api.get("/api/runs")["items"] == []


def test_evaluate_compares_a_candidate(api: Api, url: str, tmp_path: Path) -> None:
    file = tmp_path / "short.json"
    file.write_text(json.dumps(CANDIDATE))
    args = ("evaluate", "--shadow", "short", "--candidate", f"@{file}", "--url", url, "--yes")
    with driven(api):
        result = run(*args)
        document = json.loads(run(*args, "--json").stdout)
    assert result.exit_code == 0, result.output
    assert "4 compared" in result.stdout
    assert document["comparison"]["compared"] == 4


def test_a_detached_run_is_looked_at_and_canceled(api: Api, url: str) -> None:
    begun = run("evaluate", "--rule", "rare", "--yes", "--detach", "--json", "--url", url)
    run_id = json.loads(begun.stdout)["run_id"]
    assert run_id in run("runs", "--url", url).stdout
    assert "goes on" in run("runs", run_id, "--url", url).stdout
    assert json.loads(run("runs", "--json", "--url", url).stdout)["items"]
    first, second = (run("runs", "cancel", run_id, "--url", url) for _ in range(2))
    assert ("canceled" in first.stdout, first.stderr) == (True, "")
    assert (second.exit_code, "ended already: it is canceled" in second.stderr) == (0, True)
    ended = run("runs", run_id, "--follow", "--url", url)
    assert (ended.exit_code, "canceled" in ended.stdout) == (1, True)


def test_a_run_that_would_judge_nothing_is_not_begun_unless_that_is_a_guess(
    api: Api, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("evaluate", "--rule", "live", "--where", "has_error", "--url", url)
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("tracejury.cli.history.sys", terminal)
    assert run(*args, input="y\n").exit_code == 0
    assert api.get("/api/runs")["items"] == []
    monkeypatch.setattr("tracejury_collector.runs.desk.ESTIMATE_S", -1.0)
    with driven(api):
        assert run(*args, input="y\n").exit_code == 0
    assert len(api.get("/api/runs")["items"]) == 1


def test_a_run_that_fails_ends_with_1(api: Api, url: str) -> None:
    run_id = post(api, evaluators=["short"])["run_id"]
    end_run(api.context.db, run_id, "failed", api.clock(), "where: no")
    result = run("runs", run_id, "--follow", "--url", url)
    assert (result.exit_code, "where: no" in result.stdout) == (1, True)


@pytest.mark.parametrize(
    "args",
    [
        ["evaluate", "--yes"],
        ["evaluate", "--rule", "live", "--timeout", "3", "--yes"],
        ["evaluate", "--rule", "live", "--trace", "x.jsonl"],
        ["evaluate", "--trace", "x.jsonl", "--evaluator", "no-loops", "--yes"],
        ["evaluate", "--shadow", "short", "--yes"],
        ["evaluate", "--shadow", "short", "--candidate", "{", "--yes"],
        ["evaluate", "--shadow", "short", "--candidate", "[]", "--yes"],
        ["evaluate", "--shadow", "short", "--candidate", "@no-such-file", "--yes"],
        ["evaluate", "--rule", "nobody", "--yes"],
        ["evaluate", "--rule", "live", "--where", "nope", "--yes"],
        ["runs", "cancel"],
        ["runs", "a", "b"],
        ["runs", "run-0"],
        ["runs", "cancel", "run-0"],
    ],
)
def test_wrong_use_ends_with_2_and_says_why(url: str, args: list[str]) -> None:
    result = run(*args, "--url", url)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("tracejury: ")
    lines = result.stderr.splitlines()
    assert len(lines) == 1 or (len(lines) == 3 and lines[-1].strip() == "^"), lines


def test_nobody_there_ends_with_3() -> None:
    for args in (["runs"], ["evaluate", "--rule", "live", "--yes"]):
        assert run(*args, "--url", "http://127.0.0.1:9").exit_code == 3


def test_what_traces_and_errors_hold_cannot_steer_a_terminal(api: Api, url: str) -> None:
    run_id = post(api, evaluators=["short"])["run_id"]
    end_run(api.context.db, run_id, "failed", api.clock(), "where: \x1b[31mred")
    assert "\x1b" not in run("runs", run_id, "--url", url).stdout


def test_a_condition_is_checked_where_there_is_nothing_to_judge(tmp_path: Path) -> None:
    with running_api(tmp_path, **SETTINGS) as empty:
        body = {"evaluators": ["short"], "where": "has_eror", "dry_run": True}
        answer = empty.http.post("/api/runs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "sql_refused")
    assert answer.json()["position"]["character"] == 1
