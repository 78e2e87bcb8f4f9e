"""Reading history again over the API."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from typer.testing import CliRunner, Result

from tests.helpers.api import Api, agent_run
from tracejury.cli import app

PATH = "/api/renormalizations"


def test_a_request_tells_how_far_it_has_come_and_what_it_found(api: Api) -> None:
    api.store(*agent_run(1), *agent_run(2))
    api.finish()
    made = api.http.post(PATH, json={"dry_run": True})
    assert made.status_code == 202
    assert (made.json()["state"], made.json()["done"]) == ("running", 0.0)
    while api.context.renormalizer.step():
        pass
    found = api.get(f"{PATH}/{made.json()['id']}")
    assert (found["state"], found["done"], found["dry_run"]) == ("done", 1.0, True)
    assert (found["report"]["spans"], found["report"]["traces"]) == (4, 2)
    assert api.get(PATH)["items"] == [found]


def test_one_runs_at_a_time_and_can_be_ended(api: Api) -> None:
    api.store(*agent_run(1))
    made = api.http.post(PATH, json={"since": "2020-01-01T00:00:00Z"})
    again = api.http.post(PATH, json={})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    ended = api.http.delete(f"{PATH}/{made.json()['id']}").json()
    assert ended["state"] == "canceled"
    assert not api.context.renormalizer.step()


def test_what_cannot_be_asked_is_refused(shared: Api) -> None:
    assert shared.http.delete(f"{PATH}/unknown").status_code == 404
    assert shared.http.get(f"{PATH}/unknown").status_code == 404
    assert shared.http.post(PATH, json={"since": "yesterday"}).status_code == 400
    assert shared.http.post(PATH, json={"sinse": "1d"}).status_code == 422


def run(*args: str) -> Result:
    env = {"COLUMNS": "80", "TRACEJURY_URL": ""}
    return CliRunner(env=env).invoke(app, ["renormalize", *args])


@contextmanager
def beside(step: Callable[[], object]) -> Iterator[None]:
    """Do this again and again beside, as the service does."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.02):
            step()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_the_command_ends_with_0_when_all_is_read_and_1_when_it_was_ended(
    api: Api, url: str
) -> None:
    api.store(*agent_run(1))
    api.finish()
    with beside(api.context.renormalizer.step):
        assert run("--url", url).exit_code == 0
    with beside(lambda: [api.http.delete(f"{PATH}/{r['id']}") for r in api.get(PATH)["items"]]):
        ended = run("--since", "1d", "--url", url)
    assert (ended.exit_code, "canceled" in ended.stdout) == (1, True)


def test_the_command_joins_one_that_runs_only_where_it_was_asked_the_same(
    api: Api, url: str
) -> None:
    api.store(*agent_run(1))
    api.finish()
    api.http.post(PATH, json={"dry_run": True})
    for args in ((), ("--dry-run", "--since", "1d"), ("--dry-run", "--until", "1d")):
        refused = run(*args, "--url", url)
        assert (refused.exit_code, "is running" in refused.stderr) == (2, True)

    def step_late() -> None:
        time.sleep(0.5)  # the command joins before it has ended
        api.context.renormalizer.step()

    with beside(step_late):
        joined = run("--dry-run", "--url", url)
    assert (joined.exit_code, "joining" in joined.stderr) == (0, True)
