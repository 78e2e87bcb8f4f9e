"""A service with keys in its own processes: every port, every signal; keys change while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import grpc
import httpx
import pytest
from google.rpc import code_pb2, status_pb2
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.helpers.otlp import (
    EXPORT_METHODS,
    TRACE_ID,
    encoded,
    make_span,
    request_of,
)
from tests.helpers.service import RunningService, eventually, running_service
from tracejury_collector.keys.file import change_keys
from tracejury_collector.keys.model import NewKey, new_key

NOW = datetime.now(UTC)
REFUSED = [
    ("none", 401, grpc.StatusCode.UNAUTHENTICATED),
    ("read", 403, grpc.StatusCode.PERMISSION_DENIED),
]
PROTOBUF = {"content-type": "application/x-protobuf"}


@dataclass(frozen=True, kw_only=True)
class Locked:
    """A service with keys, and the keys."""

    service: RunningService
    file: Path
    keys: dict[str, NewKey]

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": self.keys[key].secret} if key in self.keys else {}

    def add(self, name: str, made: NewKey) -> None:
        self.keys[name] = made
        change_keys(self.file, lambda keys: (*keys, made.key))


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    folder = tmp_path_factory.mktemp("locked")
    keys = {
        "read": new_key("read", ["read"], NOW),
        "ingest": new_key("ingest", ["ingest"], NOW),
        "booking": new_key("booking", ["ingest"], NOW, project="booking"),
    }
    file = folder / "tracejury.duckdb.keys"
    change_keys(file, lambda _: tuple(made.key for made in keys.values()))
    with running_service(folder, key=keys["read"].secret) as service:
        yield Locked(service=service, file=file, keys=keys)


def export(channel: grpc.Channel, method: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    call = channel.unary_unary(method)
    answer: bytes = call(body, metadata=tuple(headers.items()), timeout=10)
    return answer


@pytest.mark.parametrize(("key", "http", "code"), REFUSED)
def test_no_grpc_method_is_served_without_a_key_that_may_send(
    locked: Locked, key: str, http: int, code: grpc.StatusCode
) -> None:
    with grpc.insecure_channel(locked.service.grpc) as channel:
        for method in (*EXPORT_METHODS, "/grpc.health.v1.Health/Check", "/no.Such/Method"):
            with pytest.raises(grpc.RpcError) as refused:
                export(channel, method, locked.headers(key))
            assert refused.value.code() == code, method


def test_a_message_of_a_stranger_is_not_read(locked: Locked) -> None:
    body = encoded(
        request_of(
            make_span(attributes=[KeyValue(key="x", value=AnyValue(string_value="x" * (90 << 20)))])
        ),
        "protobuf",
    )
    with grpc.insecure_channel(locked.service.grpc) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            export(channel, EXPORT_METHODS[0], {}, body)
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED  # not: over the limit


@pytest.mark.parametrize(("key", "http", "code"), REFUSED)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics", "/nowhere"])
def test_no_otlp_path_is_served_without_a_key_that_may_send(
    locked: Locked, key: str, http: int, code: grpc.StatusCode, method: str, path: str
) -> None:
    url = f"{locked.service.otlp_http}{path}"
    headers = {**locked.headers(key), **PROTOBUF}
    answer = httpx.request(method, url, headers=headers, content=b"")
    status = status_pb2.Status.FromString(answer.content)
    assert (answer.status_code, answer.headers.get("content-type")) == (
        http,
        PROTOBUF["content-type"],
    )
    assert status.code == (code_pb2.UNAUTHENTICATED if http == 401 else code_pb2.PERMISSION_DENIED)
    assert ("www-authenticate" in answer.headers) == (http == 401)
    assert status.message


def test_only_liveness_takes_no_key(locked: Locked) -> None:
    for base in (locked.service.otlp_http, locked.service.api):
        assert httpx.get(f"{base}/healthz").status_code == 200
    assert httpx.get(f"{locked.service.api}/readyz").status_code == 401


def test_spans_come_in_by_all_ways_and_are_of_the_project_of_their_key(locked: Locked) -> None:
    claimed = KeyValue(key="tracejury.project", value=AnyValue(string_value="claimed"))

    def body(number: int) -> bytes:
        request = request_of(make_span(number))
        request.resource_spans[0].resource.attributes.append(claimed)
        return encoded(request, "protobuf")

    service = locked.service
    bound, free = locked.headers("booking"), locked.headers("ingest")
    with grpc.insecure_channel(service.grpc) as channel:
        export(channel, EXPORT_METHODS[0], bound, body(1))
        export(channel, EXPORT_METHODS[0], free, body(2))
    for number, headers in ((3, bound), (4, free)):
        url = f"{service.otlp_http}/v1/traces"
        httpx.post(url, headers={**headers, **PROTOBUF}, content=body(number)).raise_for_status()
    for number, headers in ((5, bound), (6, free)):
        url = f"{service.api}/api/traces/import"
        httpx.post(url, headers={**headers, **PROTOBUF}, content=body(number)).raise_for_status()
    rows = service.sql(f"SELECT span_id, project FROM spans WHERE trace_id = '{TRACE_ID.hex()}'")
    assert {int(span_id, 16): project for span_id, project in rows} == {
        1: "booking", 2: "claimed", 3: "booking", 4: "claimed", 5: "booking", 6: "claimed",
    }  # fmt: skip


def test_a_key_counts_as_soon_as_it_is_made_and_no_longer_once_it_is_revoked(
    locked: Locked,
) -> None:
    locked.add("new", new_key("new", ["ingest", "read"], NOW))
    service, headers = locked.service, {**locked.headers("new"), **PROTOBUF}

    def statuses() -> set[int]:
        return {
            httpx.get(f"{service.api}/api/traces", headers=headers).status_code,
            httpx.post(f"{service.otlp_http}/v1/traces", headers=headers).status_code,
        }

    eventually(lambda: statuses() == {200}, "the key counts", timeout_s=5)
    change_keys(
        locked.file,
        lambda keys: tuple(
            key.model_copy(update={"revoked_at": NOW}) if key.name == "new" else key for key in keys
        ),
    )
    eventually(lambda: statuses() == {401}, "the key counts no longer", timeout_s=5)


def test_what_was_refused_is_logged_without_the_key(locked: Locked) -> None:
    stranger = new_key("stranger", ["admin"], NOW)
    url = f"{locked.service.api}/api/traces"
    assert httpx.get(url, headers={"authorization": f"Bearer {stranger.secret}"}).status_code == 401
    text = locked.service.log()
    assert "refused:" in text
    assert stranger.secret not in text
    assert not any(made.secret in text for made in locked.keys.values())


def test_the_keys_stand_in_no_environment_and_no_command_line(locked: Locked) -> None:
    for child in locked.service.children().values():
        seen = " ".join([*child.cmdline(), *child.environ().values()])
        assert "tj_" not in seen.replace(os.environ.get("TRACEJURY_API_KEY", "-"), "")
