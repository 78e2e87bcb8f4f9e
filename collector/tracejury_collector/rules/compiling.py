"""From what users write to the rules in force."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import orjson

from tracejury_collector.config import ALWAYS, Config, RuleSpec, SampleSpec
from tracejury_collector.errors import ConfigError
from tracejury_collector.rules.model import Rule, RuleEvaluator, Stratum


def compile_rules(config: Config, fingerprints: Mapping[str, str]) -> tuple[Rule, ...]:
    """Return the rules in force; `fingerprints` maps evaluator names to what tells them apart.

    Raises: ConfigError when a rule names one evaluator under two names.
    """
    specs = config.effective_evaluators()
    rules = []
    for name, spec in config.effective_rules().items():
        evaluators = tuple(
            RuleEvaluator(name=e, type=specs[e].type, fingerprint=fingerprints[e])
            for e in dict.fromkeys(spec.evaluators)
        )
        _refuse_twins(name, evaluators)
        rules.append(_compiled(name, spec, evaluators))
    return tuple(rules)


def _compiled(name: str, spec: RuleSpec, evaluators: tuple[RuleEvaluator, ...]) -> Rule:
    return Rule(
        name=name,
        where=spec.where,
        rate=spec.sample.rate,
        strata=_strata(name, spec.sample),
        per_minute=spec.sample.per_minute,
        sampled_by=spec.sample.by,
        evaluators=evaluators,
        kinds=None if spec.kinds is None else tuple(dict.fromkeys(spec.kinds)),
        target=spec.target,
        budget=spec.budget,
        fingerprint=_fingerprint(name, spec, evaluators),
    )


def _strata(rule: str, sample: SampleSpec) -> tuple[Stratum, ...]:
    path = f"rules.{rule}.sample"
    always = (
        Stratum(name=ALWAYS, where=where, rate=1.0, path=f"{path}.always[{n}]")
        for n, where in enumerate(sample.always)
    )
    named = (
        Stratum(name=name, where=spec.where, rate=spec.rate, path=f"{path}.strata.{name}.where")
        for name, spec in sample.strata.items()
    )
    return (*always, *named)


def _fingerprint(name: str, spec: RuleSpec, evaluators: tuple[RuleEvaluator, ...]) -> str:
    sample = {"rate": spec.sample.rate, **spec.sample.model_dump(exclude_defaults=True)}
    identity: list[object] = [name, spec.target, spec.where, sample]
    if spec.kinds is not None:
        identity.append(sorted(set(spec.kinds)))
    identity.append([[e.name, e.fingerprint] for e in evaluators])
    return blake2b(orjson.dumps(identity), digest_size=8).hexdigest()


def _refuse_twins(rule: str, evaluators: tuple[RuleEvaluator, ...]) -> None:
    first: dict[str, str] = {}
    for evaluator in evaluators:
        twin = first.setdefault(evaluator.fingerprint, evaluator.name)
        if twin != evaluator.name:
            raise ConfigError(
                f"rules.{rule}.evaluators: {twin!r} and {evaluator.name!r} are the same evaluator "
                "with the same config and criteria; keep one of them"
            )
