"""Promise 10: a span that cannot be taken costs itself, and everybody can see why."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.helpers.otlp import make_span, raw_request, request_of, to_json
from tests.helpers.stack import Stack, running_stack
from tests.helpers.transports import Client, Transport, client_of
from tests.promises.accounting import assert_balanced, counted
from tests.promises.poison import JSON, PROTOBUF

BATCH = 512
SOME_ID = b"<- a trace id ->"
GOOD = [make_span(n + 100, trace_id=SOME_ID) for n in range(BATCH - 1)]
RAW = [span.SerializeToString() for span in GOOD]
TEXTS = [
    json.dumps(span).encode()
    for span in to_json(request_of(*GOOD))["resourceSpans"][0]["scopeSpans"][0]["spans"]
]
CASES = [
    *[("grpc", name) for name in PROTOBUF],
    *[("protobuf", name) for name in PROTOBUF],
    *[("json", name) for name in JSON],
]
LARGE = "millions of values"
FEW = list(PROTOBUF)[::7]


def is_slow(transport: str, name: str) -> bool:
    """Say whether `make soak` alone tries it: gRPC and HTTP share the decoder of protobuf."""
    return name == LARGE or (transport == "grpc" and name not in FEW)


@dataclass
class Poisoned:
    """A service, and what its senders were told of rejected spans, by reason."""

    stack: Stack
    client: Client
    told: Counter[str] = field(default_factory=Counter)


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Poisoned]:
    with (
        running_stack(tmp_path_factory.mktemp("stack")) as stack,
        client_of(stack.http_url, stack.grpc_address) as client,
    ):
        found = Poisoned(stack, client)
        yield found
        assert_all_is_told(found)


def assert_all_is_told(poisoned: Poisoned) -> None:
    """What senders were told of is told by the API, by /metrics, and is accounted for."""
    api = poisoned.stack.api
    rows = api.get("/api/storage")["rejected"]
    assert {row["reason"]: row["count"] for row in rows} == poisoned.told
    assert {row["signal"] for row in rows} <= {"spans"}
    families = text_string_to_metric_families(api.http.get("/metrics").text)
    samples = next((f.samples for f in families if f.name == "tracejury_rejected"), [])
    assert {s.labels["reason"]: s.value for s in samples} == poisoned.told
    accounts = counted(api.context.db)
    assert_balanced(accounts)
    assert accounts["spans"].rejected == poisoned.told.total()


def body(transport: Transport, name: str, trace_id: bytes) -> bytes:
    """Return a batch of good spans with a bad one in the middle."""
    middle = BATCH // 2
    if transport == "json":
        texts = [text.replace(SOME_ID.hex().encode(), trace_id.hex().encode()) for text in TEXTS]
        inner = b",".join([*texts[:middle], JSON[name], *texts[middle:]])
        return b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + inner + b"]}]}]}"
    raw = [data.replace(SOME_ID, trace_id) for data in RAW]
    return raw_request(*raw[:middle], PROTOBUF[name], *raw[middle:])


@pytest.mark.parametrize(
    ("transport", "name"),
    [pytest.param(*case, marks=pytest.mark.slow if is_slow(*case) else ()) for case in CASES],
)
def test_one_bad_span_of_a_batch_is_rejected_alone(
    poisoned: Poisoned, transport: Transport, name: str
) -> None:
    trace_id = (1 + CASES.index((transport, name))).to_bytes(16, "big")
    reply = poisoned.client.send_body(transport, body(transport, name, trace_id))
    assert (reply.code, reply.rejected) == (0, 1)
    reason = re.fullmatch(r"1 spans rejected; 1: (.*)", reply.message)
    assert reason
    poisoned.told[reason[1]] += 1
    stored = poisoned.stack.sql("SELECT count(*) FROM spans WHERE trace_id = ?", trace_id.hex())
    assert stored == [[BATCH - 1]]
