"""Tokens and cost are counted once, wherever they are repeated."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest
from genai_prices import Usage as Counts
from genai_prices import calc_price

from tests.helpers.agent_spans import START, agent, llm, said, span, text, tool
from tracejury.assemble import assemble
from tracejury.assembly import prices
from tracejury.assembly.prices import estimate_usd
from tracejury.trace import Trace, Usage

IN = "gen_ai__usage__input_tokens"
OUT = "gen_ai__usage__output_tokens"
READ = "gen_ai__usage__cache_read__input_tokens"
WRITE = "gen_ai__usage__cache_creation__input_tokens"
RESPONSE = "gen_ai__response__id"


def tokens(trace: Trace) -> tuple[int | None, int | None]:
    return trace.usage.input_tokens, trace.usage.output_tokens


def test_the_totals_of_an_agent_do_not_count_beside_its_model_calls() -> None:
    trace = assemble(
        [
            agent(**{IN: 30, OUT: 12}),
            llm("one", at=1, **{IN: 10, OUT: 5}),
            llm("two", at=2, **{IN: 20, OUT: 7}),
        ]
    )
    assert tokens(trace) == (30, 12)
    assert trace.usage.total_tokens == 42


def test_the_totals_of_an_agent_count_where_nothing_countable_lies_below() -> None:
    trace = assemble(
        [agent(**{IN: 30, OUT: 12}), span("step", "agent", **{IN: 30}), llm("llm", at=1)]
    )
    assert tokens(trace) == (30, 12)


def test_a_wrapper_around_one_call_counts_once_and_fills_its_gaps() -> None:
    trace = assemble(
        [
            llm("wrapper", "", lasts=9, **{IN: 99, OUT: 99, READ: 4, "gen_ai__system": "openai"}),
            span("http", "wrapper", at=1),
            llm("inner", "http", at=1, **{IN: 10, OUT: 5}),
        ]
    )
    assert tokens(trace) == (10, 5)
    assert trace.usage.cache_read_tokens == 4
    (call,) = trace.llm_calls
    assert (call.span_id, call.provider) == ("inner", "openai")


def test_a_wrapper_around_several_calls_is_their_total() -> None:
    trace = assemble(
        [
            llm("wrapper", "", lasts=9, **{IN: 30, OUT: 12}),
            llm("one", "wrapper", at=1, **{IN: 10, OUT: 5}),
            llm("two", "wrapper", at=2, **{IN: 20, OUT: 7}),
        ]
    )
    assert tokens(trace) == (30, 12)
    assert len(trace.llm_calls) == 2


def test_a_model_call_inside_a_tool_is_not_part_of_the_call_around_it() -> None:
    trace = assemble(
        [
            llm("outer", "", lasts=9, **{IN: 10, OUT: 5}),
            tool("tool", "outer", at=1, lasts=5),
            llm("inner", "tool", at=2, **{IN: 3, OUT: 1}),
        ]
    )
    assert tokens(trace) == (13, 6)


def test_two_libraries_that_record_one_call_beside_each_other_count_once() -> None:
    both = {IN: 10, OUT: 5, "gen_ai__output__messages": text(said("assistant", "hi"))}
    trace = assemble(
        [agent(), llm("a", at=1, scope="one", **both), llm("b", at=1, scope="two", **both)]
    )
    assert tokens(trace) == (10, 5)
    same_library = [
        agent(),
        llm("a", at=1, scope="one", **both),
        llm("b", at=1, scope="one", **both),
    ]
    assert tokens(assemble(same_library)) == (20, 10)


def test_one_response_counts_once_and_the_span_nearest_to_the_model_is_believed() -> None:
    trace = assemble(
        [
            agent(),
            llm("library", at=1, lasts=3, scope="a", **{IN: 10, OUT: 6, RESPONSE: "r1"}),
            llm("client", at=2, lasts=1, scope="b", **{IN: 10, OUT: 5, RESPONSE: "r1"}),
        ]
    )
    assert tokens(trace) == (10, 5)
    assert len(trace.llm_calls) == 1


def test_a_response_id_that_comes_again_later_is_another_call() -> None:
    trace = assemble(
        [
            agent(),
            llm("one", at=1, **{IN: 10, OUT: 6, RESPONSE: "same"}),
            llm("two", at=5, **{IN: 20, OUT: 5, RESPONSE: "same"}),
        ]
    )
    assert tokens(trace) == (30, 11)


@pytest.mark.parametrize(
    ("recorded", "total"),
    [
        ({IN: 100, READ: 40, WRITE: 10, OUT: 5}, 100),
        ({IN: 10, READ: 40, WRITE: 10, OUT: 5}, 60),
        ({IN: 50, READ: 40, OUT: 5, "gen_ai__usage__total_tokens": 95}, 90),
        ({IN: 50, READ: 40, OUT: 5, "gen_ai__usage__total_tokens": 55}, 50),
    ],
)
def test_cached_tokens_are_part_of_the_input(recorded: dict[str, int], total: int) -> None:
    assert assemble([llm("llm", "", **recorded)]).usage.input_tokens == total


def test_a_total_alone_is_kept() -> None:
    trace = assemble([llm("llm", "", gen_ai__usage__total_tokens=9)])
    assert (trace.usage.total_tokens, trace.usage.input_tokens) == (9, None)


def test_embeddings_count_and_are_no_llm_calls() -> None:
    trace = assemble([agent(), llm("e", gen_ai__operation__name="embeddings", **{IN: 8})])
    assert (trace.usage.input_tokens, trace.llm_calls) == (8, ())


def test_nothing_reported_is_unknown_and_not_zero() -> None:
    trace = assemble([agent(), llm("llm")])
    assert (trace.usage, trace.cost.usd) == (Usage(), None)


def test_reported_cost_wins_over_the_list_price() -> None:
    trace = assemble([llm("llm", "", **{IN: 10, OUT: 5, "operation.cost": 0.5})])
    assert (trace.cost.usd, trace.cost.source) == (0.5, "reported")


def test_a_reported_cost_of_nothing_is_believed_only_if_no_price_is_known() -> None:
    free = {IN: 10, OUT: 5, "gen_ai.usage.cost": 0.0}
    assert assemble([llm("llm", "", **free)]).cost.source == "estimated"
    local = assemble([llm("llm", "", gen_ai__request__model="my-own-model", **free)])
    assert (local.cost.usd, local.cost.source) == (0.0, "reported")


def test_a_span_that_only_prepares_a_call_is_no_call() -> None:
    prepares = llm("prepare", at=1, **{"input.value": "q"})
    real = llm("real", at=2, **{IN: 10, OUT: 5})
    failed = llm("failed", at=3, status="error")
    found = assemble([agent(), prepares, real, failed]).llm_calls
    assert [call.span_id for call in found] == ["real", "failed"]
    assert len(assemble([agent(), prepares]).llm_calls) == 1


def test_a_reported_cost_of_the_run_wins_over_estimates_of_its_calls() -> None:
    trace = assemble([agent(**{"llm.cost.total": 0.25}), llm("llm", at=1, **{IN: 10, OUT: 5})])
    assert (trace.cost.usd, trace.cost.source) == (0.25, "reported")


def test_an_unknown_price_makes_the_cost_unknown() -> None:
    trace = assemble(
        [
            agent(),
            llm("one", at=1, **{IN: 10, OUT: 5}),
            llm("two", at=2, **{IN: 10, OUT: 5, "gen_ai__request__model": "my-own-model"}),
        ]
    )
    assert trace.cost.usd is None
    assert trace.diagnostics == ("price_unknown:my-own-model",)
    assert trace.llm_calls[0].cost.source == "estimated"


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-4o"),
        ("gcp.gemini", "gemini-2.5-pro"),
        ("anthropic", "claude-sonnet-4-5"),
        ("deepseek", "deepseek-chat"),
    ],
)
def test_the_estimate_is_what_the_price_table_says(provider: str, model: str) -> None:
    random_ = random.Random(3)
    when = datetime.fromtimestamp(START / 1e9, tz=UTC)
    for input_ in (0, 1, 999, 199_999, 200_000, 200_001, 700_000):
        read = random_.randrange(input_ + 1)
        output = random_.randrange(5000)
        exact = calc_price(
            Counts(input_tokens=input_, output_tokens=output, cache_read_tokens=read),
            model,
            provider_id=provider,
            genai_request_timestamp=when,
        ).total_price
        usage = Usage(input_tokens=input_, output_tokens=output, cache_read_tokens=read)
        assert estimate_usd(provider, model, usage, START) == pytest.approx(float(exact))


@pytest.mark.parametrize("model", ["", "no-such-model"])
def test_no_price_is_none(model: str) -> None:
    assert estimate_usd("openai", model, Usage(input_tokens=1), START) is None
    assert estimate_usd("openai", "gpt-4o", Usage(), START) is None


def test_an_assumed_basis_of_cached_tokens_is_told() -> None:
    def diagnostics(provider: str, **more: Any) -> tuple[str, ...]:
        call = llm(
            "llm",
            gen_ai__provider__name=provider,
            gen_ai__usage__input_tokens=100,
            gen_ai__usage__output_tokens=5,
            **{"gen_ai__usage__cache_read_input_tokens": 40, **more},
        )
        return tuple(d for d in assemble([call]).diagnostics if "cache" in d)

    assert diagnostics("anthropic") == ("cache_basis_assumed",)
    assert diagnostics("openai") == ()
    assert diagnostics("anthropic", gen_ai__usage__total_tokens=145) == ()
    assert diagnostics("anthropic", gen_ai__usage__cache_read__input_tokens=40) == ()


@pytest.mark.parametrize("model", ["gpt-4o", "gemini-2.5-pro"])
def test_equal_calls_cost_the_same_whatever_was_priced_before(model: str) -> None:
    provider = "openai" if model.startswith("gpt") else "google"
    call = Usage(input_tokens=102, output_tokens=39, cache_read_tokens=16)
    costs = set()
    for before in (0, 1, 7, 185, 4_096, 150_000):
        prices._prices.cache_clear()
        prices.estimate_usd(provider, model, Usage(input_tokens=before), 0)
        costs.add(prices.estimate_usd(provider, model, call, 0))
    assert len(costs) == 1
    assert None not in costs
