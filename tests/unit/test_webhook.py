"""Endpoints as evaluators: what they are sent, and what a config may say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr

from tests.helpers.endpoint import endpoint
from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.result import Failure, Score
from tracejury.testing import make_trace
from tracejury_evaluators.payload import PayloadCriteria, payload_of
from tracejury_evaluators.process.webhook import Webhook
from tracejury_evaluators.registry import built_in_registry

FINE = "/judge?body=%7B%22score%22%3A1%7D"


def test_an_endpoint_is_sent_what_a_script_would_read() -> None:
    criteria = PayloadCriteria(expected_outcome="degrees")
    with endpoint() as server:
        outcome = run_evaluator(Webhook(url=server.url + FINE), make_trace(), criteria)
    assert isinstance(outcome, Score)
    assert [json.loads(body) for body in server.bodies] == [payload_of(make_trace(), criteria)]


def test_headers_of_the_config_are_sent_beside_those_of_the_format() -> None:
    headers = {"authorization": "Bearer secret", "x-team": "search"}
    with endpoint() as server:
        webhook = Webhook.model_validate({"url": server.url + FINE, "headers": headers})
        run_evaluator(webhook, make_trace())
    (sent,) = server.headers
    assert headers.items() <= sent.items()
    assert (sent["content-type"], sent["accept-encoding"]) == ("application/json", "identity")


def test_how_often_an_endpoint_is_asked_is_bounded() -> None:
    with endpoint() as server:
        url = f"{server.url}/judge?status=503"
        outcome = run_evaluator(Webhook(url=url, attempts=3), make_trace())
    assert isinstance(outcome, Failure)
    assert len(server.bodies) == 3


def test_secrets_stay_out_of_fingerprints_dumps_and_failures() -> None:
    made = [
        Webhook(url="http://127.0.0.1:9/?key=hidden", headers={"x-key": SecretStr(key)}, attempts=1)
        for key in ("secret-1", "secret-2")
    ]
    assert made[0].fingerprint() == made[1].fingerprint()
    assert "secret" not in repr(made[0]) + made[0].model_dump_json()
    outcome = run_evaluator(made[0], make_trace())
    assert isinstance(outcome, Failure)
    assert "hidden" not in outcome.message


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"url": "checks.example.com/judge"}, "a webhook's URL looks like https://"),
        ({"url": "ftp://checks.example.com"}, "a webhook's URL looks like https://"),
        ({"url": "file:///etc/passwd"}, "a webhook's URL looks like https://"),
        ({"url": "https://"}, "a webhook's URL looks like https://"),
        ({"url": "https://me:pass@example.com"}, "use headers instead"),
        ({"url": "https://a.example", "headers": {"x y": "1"}}, "'x y' is no header"),
        ({"url": "https://a.example", "headers": {"Host": "b"}}, "'Host' is no header"),
        ({"url": "https://a.example", "headers": {"x": "a\r\nb: c"}}, "the value of 'x'"),
        ({"url": "https://a.example", "headers": {"x": ""}}, "the value of 'x' is empty"),
        ({"url": "https://a.example", "attempts": 0}, "config.attempts"),
    ],
)
def test_a_config_that_can_never_work_is_refused_at_the_start(
    config: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        built_in_registry().build("webhook", config)


@pytest.mark.parametrize(
    "headers",
    ["Bearer hunter2", ["hunter2"], {"authorization": ["hunter2"]}, {"authorization": 4242}],
)
def test_headers_of_the_wrong_type_are_refused_without_being_shown(headers: object) -> None:
    with pytest.raises(DefinitionError) as caught:
        built_in_registry().build("webhook", {"url": "http://127.0.0.1:1/", "headers": headers})
    assert "config.headers: " in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "4242" not in str(caught.value)
