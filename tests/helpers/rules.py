"""Rules in force without a configuration file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejury_collector.config import parse_config
from tracejury_collector.rules import Rule, compile_rules


def sampling_rule(
    *,
    rate: float,
    always: Sequence[str] = (),
    strata: Mapping[str, tuple[str, float]] | None = None,
    per_minute: int | None = None,
    by: str = "trace",
) -> Rule:
    """Return a rule that samples so; `strata` are (condition, rate) by name."""
    parts = {name: {"where": where, "rate": r} for name, (where, r) in (strata or {}).items()}
    sample = {"rate": rate, "always": list(always), "strata": parts, "by": by}
    if per_minute is not None:
        sample["per_minute"] = per_minute
    config = parse_config(
        {
            "evaluators": {"check": {"type": "no-loops"}},
            "rules": {"live": {"evaluators": ["check"], "sample": sample}},
        }
    )
    return compile_rules(config, {"check": "f1"})[0]
