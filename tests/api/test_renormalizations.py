"""Reading history again over the API."""

from __future__ import annotations

from tests.helpers.api import Api, agent_run

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
