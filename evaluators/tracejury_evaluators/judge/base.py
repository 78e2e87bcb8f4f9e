"""What all evaluators that ask a model share: their config, the prompt, the votes, the outcome."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, Field, model_validator

from tracejury.evaluator import Evaluator
from tracejury.evaluator.hashing import fingerprint_of
from tracejury.result import Failure, Score, Skip, Spent, Verdict, default_verdict
from tracejury.trace import Trace
from tracejury_evaluators.endpoint import Access, Asked, resolve
from tracejury_evaluators.facts import altered_output
from tracejury_evaluators.judge.criteria import JudgeCriteria, Text
from tracejury_evaluators.judge.fencing import fenced_all
from tracejury_evaluators.judge.installed import require_installed
from tracejury_evaluators.judge.rulings import Ruling
from tracejury_evaluators.judge.templates import (
    Template,
    built_in_template,
    parse_template,
    template_text,
)
from tracejury_evaluators.judge.variables import known_variables, variable
from tracejury_evaluators.judge.votes import Opinion, settled, total

JC = TypeVar("JC", bound=JudgeCriteria)


class LLMEvaluator(Evaluator[JC], Generic[JC]):
    """A check by a model: subclasses name their template and say what must be there."""

    timeout_s: ClassVar[float | None] = 120.0
    waits: ClassVar[bool] = True
    default_template: ClassVar[str]
    aliases: ClassVar[Mapping[str, str]] = {
        "evaluator_template": "template",
        "evaluatorTemplate": "template",
        "prompt": "template",
        "votes": "repeat",
    }

    model: str | None = Field(
        default=None, description="PROVIDER:MODEL with openai, anthropic or google; null: the judge"
    )
    base_url: str | None = Field(default=None, description="URL of the API; null: the judge's")
    api_key_env: str | None = Field(
        default=None, description="variable TRACEJURY_JUDGE_KEY_… with the key for `base_url`"
    )
    template: Annotated[str, AfterValidator(template_text)] | None = Field(
        default=None, description="own prompt: text with {{variables}}, or a .md or .txt file"
    )
    guideline: Text | None = Field(default=None, description="what else the judge should heed")
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="score that passes; null: the judge's verdict counts"
    )
    repeat: int = Field(default=1, ge=1, le=25, description="votes; the majority's verdict counts")
    temperature: float | None = Field(
        default=0.0, ge=0, le=2, description="temperature; null: the model's own"
    )
    seed: int | None = Field(
        default=None, ge=0, le=2**31, description="seed of the first vote, where it is supported"
    )
    output_mode: Literal["tool", "native", "prompted"] = Field(
        default="tool", description="how the answer is structured: tool, native (JSON), prompted"
    )
    max_tokens: int = Field(
        default=4_000, ge=50, le=64_000, description="longest answer, in tokens"
    )
    max_chars: int = Field(
        default=20_000, ge=100, le=1_000_000, description="longest text per variable, in characters"
    )
    retries: int = Field(default=3, ge=0, le=10, description="repeats of a failed request")
    re_asks: int = Field(default=1, ge=0, le=5, description="repeats after an unusable answer")
    request_timeout: float = Field(default=60.0, gt=0, le=600, description="seconds per request")
    time_limit: float = Field(
        default=110.0, gt=0, le=3600, description="seconds for all, waits and repeats included"
    )

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        require_installed(self._access.provider)
        _ = self._template
        return self

    @cached_property
    def _access(self) -> Access:
        return resolve(self.model, self.base_url, self.api_key_env)

    @cached_property
    def _template(self) -> Template:
        text = built_in_template(self.default_template) if self.template is None else self.template
        return parse_template(text, known_variables())

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The model that is asked."""
        access = self._access
        key = self.api_key_env or ""
        return (Asked(model=access.name, url=access.base_url, key=key, calls=self.repeat),)

    def fingerprint(self) -> str:
        """16 hex digits of type, version and config, the model in force and the prompt's text."""
        asked = {"model": self._access.name, "base_url": self._access.base_url}
        # in a place of their own: a prompt may have the name of a setting, such as `rubric`
        prompts = {name: built_in_template(name) for name in self._prompts()}
        config = {**self.model_dump(by_alias=True), **asked, "built_in_prompts": prompts}
        return fingerprint_of(self.type, self.version, config)

    def _prompts(self) -> Sequence[str]:
        """The names of the built-in texts that a prompt may be made of."""
        return ("system",) if self.template is not None else ("system", self.default_template)

    async def evaluate(self, trace: Trace, criteria: JC) -> Score | Skip | Failure:
        case = self._case(criteria)
        ruled = self._without_asking(trace, criteria, case)
        if ruled is not None:
            return ruled
        from tracejury_evaluators.judge.tracing import judgement

        with judgement(self.type, trace) as traced:
            outcome = await self._asked(trace, criteria, case)
            traced.ended(outcome)
        return outcome

    async def _asked(
        self, trace: Trace, criteria: JC, case: Mapping[str, str]
    ) -> Score | Skip | Failure:
        from tracejury_evaluators.judge.client import Answer, ask

        answers = await ask(self._access, self._question(trace, criteria, case), self.repeat)
        spent = total([answer.spent for answer in answers])
        usable = [answer.output for answer in answers if isinstance(answer, Answer)]
        if len(usable) * 2 <= self.repeat:
            return _failed(answers, spent)
        opinions = [self._opinion(output, trace, criteria) for output in usable]
        return settled(opinions, self.repeat, spent, self._about(trace))

    @abstractmethod
    def _without_asking(
        self, trace: Trace, criteria: JC, case: Mapping[str, str]
    ) -> Skip | Score | None:
        """The outcome where no judge is needed; None where one must be asked."""

    def _case(self, criteria: JC) -> dict[str, str]:
        """The case's texts by variable; the config's stand in for those that it leaves out."""
        own = {"guideline": (self.guideline or "").strip()}
        return {name: text for name, text in own.items() if text} | criteria.texts()

    def _answer_type(self, _criteria: JC, _case: Mapping[str, str]) -> type[BaseModel]:
        """The model of the judge's answer."""
        return Ruling

    def _template_for(self, _case: Mapping[str, str]) -> Template:
        """The template for this case."""
        return self._template

    def _extra_rules(self, _criteria: JC, _case: Mapping[str, str]) -> str:
        """What the judge is told beside the template; "" for nothing."""
        return ""

    def _problem(self, _answer: BaseModel, _trace: Trace, _criteria: JC) -> str:
        """What is wrong with an answer of the right form; "" if nothing is."""
        return ""

    def _opinion(self, answer: BaseModel, _trace: Trace, _criteria: JC) -> Opinion:
        """What the answer says."""
        assert isinstance(answer, Ruling)
        return Opinion(
            value=answer.score,
            verdict=self._verdict(answer.score, answer.verdict),
            reason=answer.reasoning,
            hits=answer.hits,
            misses=answer.misses,
        )

    def _verdict(self, value: float, given: Verdict) -> Verdict:
        return given if self.threshold is None else default_verdict(value, self.threshold)

    def _question(self, trace: Trace, criteria: JC, case: Mapping[str, str]) -> Any:
        from tracejury_evaluators.judge.client import Question

        template = self._template_for(case)
        told = [name for name in self._always_told(case) if name not in template.names]
        values = {n: variable(n, trace, case, criteria) for n in (*template.names, *told)}
        fence, material = fenced_all(values, self.max_chars)
        parts = [
            template.filled(material),
            *(f"{name}:\n{material[name]}" for name in told),
            self._extra_rules(criteria, case),
            _note(trace),
        ]
        return Question(
            instructions=built_in_template("system").replace("FENCE", fence).strip(),
            prompt="\n\n".join(part.strip() for part in parts if part),
            answer=self._answer_type(criteria, case),
            check=lambda answer: self._problem(answer, trace, criteria),
            output_mode=self.output_mode,
            temperature=self.temperature,
            seed=self.seed,
            max_tokens=self.max_tokens,
            retries=self.retries,
            re_asks=self.re_asks,
            request_timeout_s=self.request_timeout,
            total_s=self.time_limit,
        )

    def _always_told(self, case: Mapping[str, str]) -> list[str]:
        """The variables that are told at the end where the template leaves them out."""
        return ["guideline"] if case.get("guideline") else []

    def _about(self, trace: Trace) -> dict[str, Any]:
        altered = altered_output(trace)
        return {"model": self._access.name} | ({"recorded": altered} if altered else {})


def _note(trace: Trace) -> str:
    altered = altered_output(trace)
    if not altered:
        return ""
    return (
        f"Note: parts of this trace were {altered} when it was recorded. "
        "Do not hold against the agent what is missing for that reason alone."
    )


def _failed(answers: Sequence[Any], spent: Spent) -> Failure:
    """The first reason why there is no usable answer."""
    from tracejury_evaluators.judge.client import NoAnswer

    missing = [answer for answer in answers if isinstance(answer, NoAnswer)]
    more = f" ({len(missing)} of {len(answers)} votes)" if len(answers) > 1 else ""
    return Failure(missing[0].kind, f"{missing[0].message}{more}", spent=spent)
