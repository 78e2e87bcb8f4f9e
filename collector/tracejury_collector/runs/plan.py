"""What a run was asked to do, with the rule and its evaluators as they were when it began."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace

import orjson

from tracejury_collector.conditions import Conditions
from tracejury_collector.config import Config, EvaluatorSpec, RuleSpec, SampleSpec
from tracejury_collector.errors import ConfigError, InvalidRequest, NotFound
from tracejury_collector.in_force import InForce
from tracejury_collector.jury.roster import Seat
from tracejury_collector.rules import Rule, RuleEvaluator, TargetKind, compile_rules
from tracejury_collector.store.targets import TargetFilter

Trial = Callable[[EvaluatorSpec, str], Seat]

CANDIDATE = "@candidate"
"""What the name of a candidate adds to that of the evaluator whose place it might take."""

AD_HOC = ""
"""The name of the rule of a run that was given evaluators and no rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """Two evaluators that are compared, by the names of their seats in the run."""

    evaluator: str
    candidate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a user asks for: one of `rule`, `evaluators` and `shadow` says what judges.

    `rate` takes the place of all that the rule says about sampling. Unless it is to `rejudge`, a
    run leaves out what the same evaluator has judged already.
    """

    targets: TargetFilter = field(default_factory=TargetFilter)
    rule: str | None = None
    evaluators: tuple[str, ...] = ()
    shadow: tuple[str, EvaluatorSpec] | None = None
    rate: float | None = None
    rejudge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run does, whatever changes around it."""

    name: str
    spec: RuleSpec
    evaluators: tuple[RuleEvaluator, ...]
    targets: TargetFilter
    rejudge: bool = False
    shadow: Shadow | None = None

    @property
    def rule(self) -> Rule:
        """The rule that decides."""
        config = Config(
            evaluators={e.name: EvaluatorSpec(type=e.type) for e in self.evaluators},
            rules={self.name: self.spec},
        )
        (rule,) = compile_rules(config, {e.name: e.fingerprint for e in self.evaluators})
        return rule

    @property
    def target(self) -> TargetKind:
        """What it judges."""
        return self.spec.target

    @property
    def identities(self) -> Mapping[str, str]:
        """The identity of each evaluator by name."""
        return {e.name: e.fingerprint for e in self.evaluators}

    def to_json(self) -> str:
        """Return the plan as text that `plan_of` reads."""
        return orjson.dumps(
            {
                "name": self.name,
                "spec": self.spec.model_dump(mode="json"),
                "evaluators": [asdict(e) for e in self.evaluators],
                "targets": asdict(self.targets),
                "rejudge": self.rejudge,
                "shadow": asdict(self.shadow) if self.shadow else None,
            }
        ).decode()


def plan_of(text: str) -> Plan:
    """Return the plan in what `Plan.to_json` gave."""
    data = orjson.loads(text)
    ids = data["targets"]["trace_ids"]
    targets = {**data["targets"], "trace_ids": None if ids is None else tuple(ids)}
    return Plan(
        name=data["name"],
        spec=RuleSpec.model_validate(data["spec"]),
        evaluators=tuple(RuleEvaluator(**e) for e in data["evaluators"]),
        targets=TargetFilter(**targets),
        rejudge=data["rejudge"],
        shadow=Shadow(**data["shadow"]) if data["shadow"] else None,
    )


def make_plan(request: RunRequest, in_force: InForce, trial: Trial) -> Plan:
    """Return what to do; `trial` makes an evaluator that no rule names yet.

    Raises: NotFound for a rule or an evaluator of an unknown name; InvalidRequest where not one
    of rule, evaluators and shadow is given.
    """
    given = [request.rule is not None, bool(request.evaluators), request.shadow is not None]
    if sum(given) != 1:
        raise InvalidRequest(
            "rule, evaluators, shadow: a run needs one of them; "
            "name a rule, or list evaluators, or say what to compare"
        )
    if request.rule is not None:
        name, spec = request.rule, _rule_spec(request.rule, in_force.specs)
        seats = [in_force.seats[e] for e in dict.fromkeys(spec.evaluators)]
    else:
        seats = _seats(request, in_force, trial)
        name, spec = AD_HOC, RuleSpec(evaluators=[seat.name for seat in seats])
    if request.rate is not None:
        spec = spec.model_copy(update={"sample": SampleSpec(rate=request.rate)})
    plan = Plan(
        name=name,
        spec=spec,
        evaluators=tuple(_judge(seat) for seat in seats),
        targets=request.targets,
        rejudge=request.rejudge,
        shadow=_shadow(seats) if request.shadow else None,
    )
    _refuse_twins(plan.evaluators)
    return plan


@contextmanager
def conditions_of(rule: Rule) -> Iterator[Conditions]:
    """Give the checked condition of one rule."""
    conditions = Conditions((rule,))
    try:
        yield conditions
    finally:
        conditions.close()


def _rule_spec(name: str, specs: Mapping[str, RuleSpec]) -> RuleSpec:
    if name not in specs:
        known = ", ".join(repr(other) for other in sorted(specs)) or "none is"
        raise NotFound(f"rule: no rule in force is named {name!r}, only {known}; name one of them")
    return specs[name]


def _seats(request: RunRequest, in_force: InForce, trial: Trial) -> list[Seat]:
    names = [request.shadow[0]] if request.shadow else list(dict.fromkeys(request.evaluators))
    for name in names:
        if name not in in_force.seats:
            known = ", ".join(repr(other) for other in sorted(in_force.seats)) or "none is"
            raise NotFound(
                f"evaluators: no evaluator is named {name!r}, only {known}; name one of them"
            )
    found = [in_force.seats[name] for name in names]
    return [*found, _candidate(*request.shadow, trial)] if request.shadow else found


def _candidate(name: str, spec: EvaluatorSpec, trial: Trial) -> Seat:
    try:
        seat = trial(spec, f"{name}{CANDIDATE}")
    except ConfigError as error:
        raise InvalidRequest(f"shadow.candidate: {error}") from error
    return replace(seat, name=f"{name}{CANDIDATE}")


def _judge(seat: Seat) -> RuleEvaluator:
    return RuleEvaluator(name=seat.name, type=seat.type, fingerprint=seat.identity)


def _shadow(seats: Sequence[Seat]) -> Shadow:
    return Shadow(evaluator=seats[0].name, candidate=seats[1].name)


def _refuse_twins(evaluators: Sequence[RuleEvaluator]) -> None:
    if len({e.fingerprint for e in evaluators}) == len(evaluators):
        return
    names = ", ".join(repr(e.name) for e in evaluators)
    raise InvalidRequest(
        f"evaluators: two of {names} are the same evaluator with the same config and criteria; "
        "leave one out, or change what is to be compared"
    )
