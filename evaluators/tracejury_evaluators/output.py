"""Evaluators of the agent's final answer as text."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar

import re2
from pydantic import AfterValidator, Field, StringConstraints

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Trace
from tracejury_evaluators.facts import altered_output, missing_output, output_spans

MAX_PATTERN_CHARS = 10_000
EXCERPT_CHARS = 80


class NonEmptyOutput(Evaluator):
    """Passes if the agent gave an answer that is not blank.

    Skipped where an answer may exist and not be seen: content that was not captured or was
    redacted, or output tokens of which nothing was recorded; and where none is due: a bare
    model call that asked for a tool, and traces that are no run of an agent or a model.
    """

    type: ClassVar[str] = "non-empty-output"
    label: ClassVar[str] = "Non-empty output"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_output(trace)
        if skip is not None:
            return skip
        characters = len(trace.output_text.strip())
        if characters:
            reason = f"the output has {characters} characters"
            return Score(1.0, reason=reason, details={"characters": characters})
        return Score(0.0, reason="the output is empty", evidence=output_spans(trace))


def _compiles(pattern: str) -> str:
    compiled(pattern, "")
    return pattern


Pattern = Annotated[str, StringConstraints(max_length=MAX_PATTERN_CHARS), AfterValidator(_compiles)]


class RegexCriteria(Criteria):
    """The pattern of one case."""

    pattern: Pattern | None = Field(default=None, description="RE2 pattern, searched in the output")
    must_match: bool | None = Field(default=None, description="false: the pattern must not match")


class Regex(Evaluator[RegexCriteria]):
    """Passes if the answer matches a pattern, or if it does not where `must_match` is false.

    Patterns are RE2 (no look-around, no back-references), which takes linear time whatever the
    answer holds; a match may stand anywhere in the answer. A case's criteria go before the
    config. An empty answer is matched like any other. Skipped where no pattern is given, where
    the answer was not captured, and where it was truncated or redacted and nothing matched.
    """

    type: ClassVar[str] = "regex"
    label: ClassVar[str] = "Regular expression"

    pattern: Pattern | None = Field(default=None, description="RE2 pattern, searched in the output")
    flags: str = Field(
        default="",
        pattern="^[ims]*$",
        description="i: ignore case, m: ^ and $ match at lines, s: . matches line breaks",
    )
    must_match: bool = Field(default=True, description="false: the pattern must not match")

    @cached_property
    def _own(self) -> Any:
        return None if self.pattern is None else compiled(self.pattern, self.flags)

    def evaluate(self, trace: Trace, criteria: RegexCriteria) -> Score | Skip:
        if criteria.pattern is None:
            pattern, expression = self.pattern, self._own
        else:
            pattern, expression = criteria.pattern, compiled(criteria.pattern, self.flags)
        if pattern is None:
            return Skip("no pattern is given, neither in the config nor in the criteria")
        skip = missing_output(trace)
        if skip is not None:
            return skip
        must_match = self.must_match if criteria.must_match is None else criteria.must_match
        found = expression.search(trace.output_text.encode("utf-8", "replace"))
        if found is None and (altered := altered_output(trace)):
            return Skip(f"the recorded content was {altered} and {pattern!r} matches none of it")
        return _matched(trace, pattern, found, must_match)


def _matched(trace: Trace, pattern: str, found: Any, must_match: bool) -> Score:
    if found is None:
        excerpt, observation = "", f"{pattern!r} does not match the output"
    else:
        excerpt = found.group()[:EXCERPT_CHARS].decode("utf-8", "replace")
        observation = f"{pattern!r} matches {excerpt!r}"
    passed = (found is not None) == must_match
    return Score(
        float(passed),
        reason=observation
        if passed
        else f"{observation}, but it must{'' if must_match else ' not'}",
        hits=[observation] if passed else [],
        misses=[] if passed else [observation],
        details={"pattern": pattern, "must_match": must_match, "matched": found is not None},
        evidence=output_spans(trace),
    )


def compiled(pattern: str, flags: str) -> Any:
    """The compiled pattern.

    Raises: ValueError where RE2 does not take it.
    """
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    options.dot_nl = "s" in flags
    prefix = "(?m)" if "m" in flags else ""
    try:
        return re2.compile(prefix + pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ValueError(
            f"RE2 does not take the pattern {pattern[:EXCERPT_CHARS]!r}: {_text(error)}; "
            "look-around and back-references are not supported"
        ) from error


def _text(error: Exception) -> str:
    argument = error.args[0] if error.args else ""
    return argument.decode("utf-8", "replace") if isinstance(argument, bytes) else str(error)


EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    NonEmptyOutput,
    Regex,
)
