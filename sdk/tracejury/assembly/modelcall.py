"""One call of a model, with what the spans that recorded it say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from tracejury.assembly.models import split_model
from tracejury.assembly.nodes import NO_COST, Node
from tracejury.assembly.prices import estimate_usd
from tracejury.assembly.spoken import has_parts
from tracejury.dialects.decode import to_name
from tracejury.dialects.rules import Field
from tracejury.trace import Cost, Message, Usage

T = TypeVar("T")


class Call:
    """One call of a model; several nested spans may have recorded it, the innermost first."""

    def __init__(self, node: Node) -> None:
        self.nodes = [node]

    @property
    def main(self) -> Node:
        """The innermost span: nearest to the model."""
        return self.nodes[0]

    @cached_property
    def usage(self) -> Usage:
        """The tokens used, fields that the innermost span lacks taken from those around it."""
        return merged_usage([node.usage for node in self.nodes])

    @cached_property
    def reported_usd(self) -> float | None:
        """The cost that a span reports, None if none does.

        A library that knows no price reports 0: believed only if the price table knows none either.
        """
        cost = _first([node.fields.cost_usd for node in self.nodes])
        return None if cost == 0 and self.list_price_usd else cost

    @cached_property
    def list_price_usd(self) -> float | None:
        """The cost by list price, None if it is unknown."""
        model = self.model or self.requested_model
        return estimate_usd(self.provider, model, self.usage, self.main.record.start_ns)

    @cached_property
    def cost(self) -> Cost:
        """Reported cost, else the list price, else unknown."""
        if self.reported_usd is not None:
            return Cost(usd=self.reported_usd, source="reported")
        usd = self.list_price_usd
        return NO_COST if usd is None else Cost(usd=usd, source="estimated")

    @cached_property
    def model(self) -> str:
        """The model that answered, else the one that was asked."""
        return split_model(self._text("model"), self._text("provider"))[0]

    @cached_property
    def requested_model(self) -> str:
        """The model that was asked, else the one that answered.

        Some libraries name the provider where they do not know the model; where a call names
        none, the agent that made it may.
        """
        asked = split_model(self._name("request_model"), self._text("provider"))[0]
        if asked and asked.lower() != self.provider:
            return asked
        return self.model or self._agents_model()

    @cached_property
    def provider(self) -> str:
        """Who serves the model."""
        return split_model(self._text("model"), self._text("provider"))[1]

    @cached_property
    def response_id(self) -> str:
        """The provider's id of the response."""
        return self._name("response_id")

    @cached_property
    def input(self) -> tuple[Message, ...]:
        """The messages sent."""
        return _first_content(n.input for n in sorted(self.nodes, key=lambda n: n.is_cut("input")))

    @cached_property
    def output(self) -> tuple[Message, ...]:
        """The messages received."""
        return _first_content(
            n.output for n in sorted(self.nodes, key=lambda n: n.is_cut("output"))
        )

    def _agents_model(self) -> str:
        agent = self.main.agent
        return split_model(agent.fields.model, agent.fields.provider)[0] if agent else ""

    def value(self, field: Field) -> Any:
        """The most trusted value of a field over the spans of the call."""
        for node in self.nodes:
            if (value := node.reading.first(field)) is not None:
                return value
        return None

    def _name(self, field: Field) -> str:
        for node in self.nodes:
            if name := to_name(node.reading.first(field)):
                return name
        return ""

    def _text(self, field: str) -> str:
        for node in self.nodes:
            if text := getattr(node.fields, field):
                return str(text)
        return ""


def _first_content(sides: Iterable[tuple[Message, ...]]) -> tuple[Message, ...]:
    return next((messages for messages in sides if has_parts(messages)), ())


def has_usage(usage: Usage) -> bool:
    """Whether any token was reported."""
    return usage.total_tokens is not None


def merged_usage(usages: Sequence[Usage]) -> Usage:
    """The first usage that reports tokens, its gaps filled from the others."""
    if len(usages) == 1:
        return usages[0]
    known = sorted(usages, key=lambda usage: not has_usage(usage))
    fields = {name: _first([getattr(u, name) for u in known]) for name in Usage.__slots__}
    fields["output_tokens"] = _with_reasoning(known)
    if fields["input_tokens"] is not None or fields["output_tokens"] is not None:
        fields["total_tokens"] = (fields["input_tokens"] or 0) + (fields["output_tokens"] or 0)
    return Usage(**fields)


def _with_reasoning(usages: Sequence[Usage]) -> int | None:
    """The first output reported; where it lacks the reasoning that a span around it adds, its."""
    output = _first([usage.output_tokens for usage in usages])
    if output is None or usages[0].reasoning_tokens is not None:
        return output
    whole = (
        usage.output_tokens
        for usage in usages[1:]
        if usage.reasoning_tokens and usage.output_tokens == output + usage.reasoning_tokens
    )
    return next(whole, output)


def _first(values: Iterable[T | None]) -> T | None:
    for value in values:
        if value is not None:
            return value
    return None
