"""Prices of model calls, from the table that ships with genai-prices; never from the network."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from tracejury.trace import Usage

_MILLION = 1_000_000
_ALIASES = {
    "vertex_ai": "google",
    "gemini": "google",
    "gcp": "google",
    "xai": "x-ai",
    "x_ai": "x-ai",
    "mistral_ai": "mistral",
    "moonshot_ai": "moonshotai",
    "az.ai.openai": "azure",
    "az.ai.inference": "azure",
    "azure.ai.inference": "azure",
}
# The price of a span without a time: that of a fixed day, so that assembly stays pure.
_UNDATED = datetime(2026, 1, 1, tzinfo=UTC)
_FAILURES = (LookupError, ValueError, ArithmeticError, TypeError, AttributeError)


def estimate_usd(provider: str, model: str, usage: Usage, start_ns: int) -> float | None:
    """What the call costs in US dollars by list price; None if the price is unknown."""
    if not model or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    prices = _prices(
        _ALIASES.get(provider, provider), model, _priced_day(provider, model, start_ns)
    )
    return None if prices is None else prices.cost(usage)


class _Prices:
    """The prices of one model: rates per token for each tier of prompt length."""

    def __init__(self, model_price: Any) -> None:
        self._price = model_price
        self._starts: list[int] = sorted(
            {
                tier.start
                for price in vars(model_price).values()
                for tier in getattr(price, "tiers", ())
            }
        )
        self._rates: dict[int, tuple[float, float, float, float]] = {}

    def cost(self, usage: Usage) -> float | None:
        """The cost of a call in US dollars, None if the table cannot tell."""
        total, output = usage.input_tokens or 0, usage.output_tokens or 0
        read = min(usage.cache_read_tokens or 0, total)
        written = min(usage.cache_write_tokens or 0, total - read)
        tier = sum(total > start for start in self._starts)
        if tier not in self._rates:
            try:
                self._rates[tier] = self._probe(self._size(tier))
            except _FAILURES:
                return None
        plain, produced, cached, stored = self._rates[tier]
        return (
            (total - read - written) * plain + output * produced + read * cached + written * stored
        )

    def _size(self, tier: int) -> int:
        """A prompt's length in this tier: always the same, so that equal calls cost the same.

        Rates are divided by it, and each length would leave its own rounding in them.
        """
        if tier < len(self._starts):
            return self._starts[tier] or 1
        return max([0, *self._starts]) + _MILLION

    def _probe(self, size: int) -> tuple[float, float, float, float]:
        """The rates of the tier in which a prompt of this length falls."""
        plain = self._exact(size, 0, 0, 0)
        produced = self._exact(size, _MILLION, 0, 0) - plain
        cached, stored = self._exact(size, 0, size, 0), self._exact(size, 0, 0, size)
        return plain / size, produced / _MILLION, cached / size, stored / size

    def _exact(self, input_: int, output: int, cache_read: int, cache_write: int) -> float:
        from genai_prices import Usage as Counts

        counts = Counts(
            input_tokens=input_,
            output_tokens=output,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
        )
        return float(self._price.calc_price(counts)["total_price"])


@lru_cache(maxsize=1024)
def _model(provider: str, model: str) -> Any:
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, provider or None, None)[1]
    except _FAILURES:
        return None


def _priced_day(provider: str, model: str, start_ns: int) -> int:
    """The minute of the call where the price depends on time, else 0."""
    info = _model(_ALIASES.get(provider, provider), model)
    if info is None or not isinstance(info.prices, list):
        return 0
    return start_ns // 60_000_000_000


@lru_cache(maxsize=4096)
def _prices(provider: str, model: str, minute: int) -> _Prices | None:
    info = _model(provider, model)
    if info is None:
        return None
    try:
        when = datetime.fromtimestamp(minute * 60, tz=UTC) if minute else _UNDATED
        return _Prices(info.get_prices(when))
    except (*_FAILURES, OSError):
        return None
