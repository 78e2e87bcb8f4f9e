"""The tokens that one span reports, with cached tokens counted as input."""

from __future__ import annotations

from tracejury.dialects.decode import to_int
from tracejury.dialects.resolve import Fields, Reading
from tracejury.trace import NO_USAGE, Usage

# Attributes of the conventions that say that input tokens contain the cached ones.
_CONVENTIONS = frozenset(
    {"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"}
)
# Providers, and models of theirs elsewhere, that count cached tokens apart.
_APART = ("anthropic", "claude", "aws.bedrock", "aws_bedrock", "bedrock", "amazon_bedrock")


def span_usage(fields: Fields, reading: Reading) -> Usage:
    """The tokens that a span reports, with cached tokens counted as input.

    A total below the sum of both sides corrects the output: its parts may overlap.
    """
    read_, written = fields.cache_read_tokens, fields.cache_write_tokens
    input_, output = fields.input_tokens, fields.output_tokens
    total = to_int(reading.first("total_tokens"))
    if input_ is None and output is None and total is None and read_ is None:
        return NO_USAGE
    if input_ and output and total and input_ <= total < input_ + output:
        output = total - input_
    cached = (read_ or 0) + (written or 0)
    if input_ is not None and cached and _excludes_cache(fields, reading, cached, total):
        input_ += cached
    apart = to_int(reading.first("reasoning_apart"))
    if output is not None and apart and (total is None or total >= (input_ or 0) + output + apart):
        output += apart
    if input_ is not None or output is not None:
        total = (input_ or 0) + (output or 0)
    return Usage(
        input_tokens=input_,
        output_tokens=output,
        cache_read_tokens=read_,
        cache_write_tokens=written,
        reasoning_tokens=fields.reasoning_tokens,
        total_tokens=total,
    )


def _excludes_cache(fields: Fields, reading: Reading, cached: int, total: int | None) -> bool:
    """Whether the input does not contain the cached tokens: Anthropic and Bedrock count so.

    The emitter's rule decides; where no rule knows it, what the numbers themselves show.
    """
    input_, output, rule = fields.input_tokens or 0, fields.output_tokens, reading.plan.cache
    if cached > input_:
        return True
    if rule is not None and _is_served_by(rule.providers, fields):
        return rule.basis == "exclusive"
    return total is not None and output is not None and total == input_ + output + cached


def assumes_cache(fields: Fields, reading: Reading, usage: Usage) -> bool:
    """Whether it is only assumed that the input contains the cached tokens.

    So where a provider counts them apart, and neither a rule, the name of the attribute nor the
    numbers tell what the emitter made of it.
    """
    rule = reading.plan.cache
    if not (fields.cache_read_tokens or fields.cache_write_tokens):
        return False
    if rule is not None and _is_served_by(rule.providers, fields):
        return False
    if not _CONVENTIONS.isdisjoint(reading.attributes):
        return False
    return _is_served_by(_APART, fields) and usage.input_tokens == fields.input_tokens


def _is_served_by(providers: tuple[str, ...], fields: Fields) -> bool:
    names = (fields.provider.lower(), fields.model.lower().rsplit("/", 1)[-1])
    return not providers or any(name.startswith(providers) for name in names)
