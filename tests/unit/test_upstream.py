"""What exporters say of the sampling they did is understood, and nonsense is not believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.trace import SpanRecord
from tracejury_collector.upstream import (
    LEAST_PROBABILITY,
    stated_probability,
    upstream_probability,
)


@pytest.mark.parametrize(
    ("trace_state", "probability"),
    [
        ("", 1.0),
        ("ot=th:0", 1.0),
        ("ot=th:8", 0.5),
        ("ot=th:c", 0.25),
        ("ot=th:e666", 1 - 0xE666 / 0x10000),
        ("vendor=1,ot=rv:ffffffffffffff;th:c , other=2", 0.25),
        ("ot=th:c;rv:bfffffffffffff", 1.0),
        ("ot=p:3;r:5", 0.125),
        ("ot=p:0", 1.0),
        ("ot=p:3;th:8", 0.5),
        ("tenant@ot=th:c", 1.0),
        ("OT=th:c", 1.0),
        ("ot=th:C", 1.0),
        ("ot=th:", 1.0),
        ("ot=th:123456789abcdef", 1.0),
        ("ot=th:0x8", 1.0),
        ("ot=th:-8", 1.0),
        ("ot=p:63", 1.0),
        ("ot=p:-1", 1.0),
        ("ot=p:٣", 1.0),
        ("ot", 1.0),
        ("ot=;;:,=", 1.0),
        ("ot=th:ffffffffffffff", 1.0),
        ("ot=p:62", 1.0),
        ("x," * 10_000 + "ot=th:c", 1.0),
    ],
)
def test_a_trace_state_tells_of_sampling(trace_state: str, probability: float) -> None:
    assert stated_probability(trace_state) == pytest.approx(probability, rel=1e-12)


@given(st.text() | st.from_regex(r"(ot=(th|p|rv):[0-9a-f]{0,16}[;,]){1,4}", fullmatch=True))
def test_no_trace_state_gives_a_weight_that_cannot_be_used(trace_state: str) -> None:
    assert LEAST_PROBABILITY <= stated_probability(trace_state) <= 1


@given(st.integers(0, (1 << 56) - 1))
def test_a_threshold_keeps_the_share_of_randomness_above_it(threshold: int) -> None:
    digits = f"{threshold:014x}".rstrip("0") or "0"
    found = stated_probability(f"ot=th:{digits}")
    expected = 1 - threshold / (1 << 56)
    assert found == (expected if expected >= LEAST_PROBABILITY else 1.0)


def span(parent: str, start_ns: int, trace_state: str) -> SpanRecord:
    return SpanRecord(
        trace_id="a",
        span_id=f"{start_ns:016x}",
        parent_span_id=parent,
        start_ns=start_ns,
        trace_state=trace_state,
    )


@pytest.mark.parametrize(
    ("spans", "probability"),
    [
        ([], 1.0),
        ([span("b", 1, "ot=th:8"), span("", 2, "ot=th:c")], 0.25),
        ([span("b", 2, "ot=th:8"), span("b", 1, "ot=th:c")], 0.25),
        ([span("", 2, "ot=th:8"), span("", 1, "ot=th:c")], 0.25),
        ([span("", 1, ""), span("b", 2, "ot=th:c")], 1.0),
    ],
)
def test_the_root_speaks_for_its_trace(spans: list[SpanRecord], probability: float) -> None:
    assert upstream_probability(spans) == probability
    assert upstream_probability(spans[::-1]) == probability
