"""Whether tools were called with arguments that their definitions allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import orjson

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import LLMCall, ToolCall, Trace
from tracejury_evaluators.facts import (
    altered_output,
    call_spans,
    counted,
    listed,
    missing_tool_calls,
)
from tracejury_evaluators.schemas import (
    CompiledSchema,
    SchemaProblem,
    Steps,
    TooManySteps,
    compile_schema,
)


class ValidToolArgs(Evaluator):
    """Passes if the arguments of every call are valid by the tool's definition.

    The definition is the JSON Schema that the model was given: that of the model call which
    asked for the tool, else any under which the tool was offered in the trace. The value is the
    share of valid calls. References are resolved inside the schema only: nothing is ever
    fetched. Calls of tools without a usable schema, and calls whose arguments were not recorded,
    do not count. Skipped where no call counts, where checking takes too many steps, and where
    arguments that were truncated or redacted are not valid.
    """

    type: ClassVar[str] = "valid-tool-args"
    label: ClassVar[str] = "Valid tool arguments"

    def evaluate(self, trace: Trace, _criteria: Criteria) -> Score | Skip:
        skip = missing_tool_calls(trace)
        if skip is not None:
            return skip
        try:
            judged = list(_judged(trace))
        except TooManySteps as error:
            return Skip(str(error))
        if not judged:
            return Skip("no call has both recorded arguments and a definition with a schema")
        wrong = [(call, problem) for call, problem in judged if problem]
        if wrong and (altered := altered_output(trace)):
            return Skip(f"the recorded content was {altered} and is not valid: {_told(*wrong[0])}")
        return _scored(len(judged), wrong)


def _judged(trace: Trace) -> Iterator[tuple[ToolCall, str]]:
    """The calls that count, each with what is wrong with it; the trace brought the schemas.

    Raises: TooManySteps where making them ready and checking all calls takes too many.
    """
    steps = Steps()
    offered = Offered(trace.llm_calls, steps)
    for call in trace.tool_calls:
        if call.arguments is not None:
            problem = _problem(offered.schemas(call), call.arguments, steps)
            if problem is not None:
                yield call, problem


class Offered:
    """The schemas under which tools were offered, each looked up once."""

    def __init__(self, llm_calls: Sequence[LLMCall], steps: Steps) -> None:
        self._steps = steps
        self._llm_calls = llm_calls
        self._by_span = {call.span_id: call for call in llm_calls}
        self._found: dict[tuple[str, str], Sequence[CompiledSchema]] = {}

    def schemas(self, call: ToolCall) -> Sequence[CompiledSchema]:
        """The schemas that a call may follow; none where the tool was offered without one."""
        key = (call.requested_by_span_id, call.name)
        found = self._found.get(key)
        if found is None:
            asked = self._by_span.get(call.requested_by_span_id)
            found = _schemas([asked], call.name) if asked else []
            self._found[key] = found = found or _schemas(self._llm_calls, call.name)
            self._steps.spend(sum(schema.steps for schema in found))
        return found


def _schemas(llm_calls: Sequence[LLMCall], name: str) -> Sequence[CompiledSchema]:
    """The schemas under which these model calls were offered a tool, each once."""
    texts = dict.fromkeys(
        _text(tool.parameters)
        for call in llm_calls
        for tool in call.tool_definitions
        if tool.name == name
    )
    return [schema for text in texts if (schema := _compiled(text)) is not None]


def _text(parameters: Any) -> bytes:
    """A definition's parameters as JSON; empty where they are no schema."""
    if not isinstance(parameters, (dict, str)):
        return b""
    try:
        return parameters.encode() if isinstance(parameters, str) else orjson.dumps(parameters)
    except (TypeError, UnicodeEncodeError):
        return b""


@lru_cache(maxsize=512)
def _compiled(text: bytes) -> CompiledSchema | None:
    """The schema ready for use; None where it cannot be used."""
    try:
        schema = orjson.loads(text)
        return compile_schema(schema) if isinstance(schema, dict) else None
    except ValueError:
        return None


def _problem(schemas: Sequence[CompiledSchema], arguments: Any, steps: Steps) -> str | None:
    """What is wrong with the arguments by the first schema; "" where they are valid by any.

    None where no schema says anything: there is none, or it refers to itself without end.
    """
    first: str | None = None
    for schema in schemas:
        try:
            violations = schema.violations(arguments, limit=1, steps=steps)
        except SchemaProblem:
            continue
        if not violations:
            return ""
        first = first or violations[0].text
    return first


def _told(call: ToolCall, problem: str) -> str:
    return f"{call.name}: {problem}"


def _scored(judged: int, wrong: Sequence[tuple[ToolCall, str]]) -> Score:
    said = f"{judged - len(wrong)} of {counted(judged, 'call')} with valid arguments"
    told = [_told(call, problem) for call, problem in wrong]
    return Score(
        1 - len(wrong) / judged,
        "fail" if wrong else "pass",
        f"{said}; {listed(told)}" if told else said,
        misses=told,
        details={"calls": judged, "invalid": len(wrong)},
        evidence=call_spans(call for call, _ in wrong),
    )
