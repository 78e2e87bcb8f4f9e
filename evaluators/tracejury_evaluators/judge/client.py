"""Asking a judge through pydantic-ai: structured answers, or the reason why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import httpx2
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, NativeOutput, PromptedOutput, RunUsage, ToolOutput
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelConnectionError,
    ModelHTTPError,
    ModelTimeoutError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from tracejury.result import Spent
from tracejury_evaluators.endpoint import Access
from tracejury_evaluators.judge.providers import model_of
from tracejury_evaluators.judge.quiet import untraced, unwarned
from tracejury_evaluators.judge.tracing import traced
from tracejury_evaluators.judge.transport import RETRYABLE, Redirected, http_client

OutputMode = Literal["tool", "native", "prompted"]
R = TypeVar("R", bound=BaseModel)

SIDE_BY_SIDE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[R]):
    """What a judge is asked, and within which bounds.

    `check` says what is wrong with an answer that has the right form; "" if nothing is.
    """

    instructions: str
    prompt: str
    answer: type[R]
    check: Callable[[R], str]
    output_mode: OutputMode
    temperature: float | None
    seed: int | None
    max_tokens: int
    retries: int
    re_asks: int
    request_timeout_s: float
    total_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[R]):
    """A judge's answer and what it took."""

    output: R
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """Why a judge gave no answer that can be used, and what it took all the same."""

    kind: str
    message: str
    spent: Spent


async def ask(access: Access, question: Question[R], votes: int) -> list[Answer[R] | NoAnswer]:
    """As many answers as votes, in the order of their seeds."""
    client = http_client(
        access,
        retries=question.retries,
        timeout_s=question.request_timeout_s,
        total_s=question.total_s,
    )
    with untraced(), unwarned:
        async with client:
            agent = _agent(traced(model_of(access, client)), question)
            seats = asyncio.Semaphore(SIDE_BY_SIDE)
            deadline_s = asyncio.get_running_loop().time() + question.total_s

            async def one(number: int) -> Answer[R] | NoAnswer:
                async with seats:
                    return await _vote(agent, access, question, number, deadline_s)

            return list(await asyncio.gather(*(one(number) for number in range(votes))))


async def _vote(
    agent: Agent[Any, R], access: Access, question: Question[R], number: int, deadline_s: float
) -> Answer[R] | NoAnswer:
    usage = RunUsage()
    try:
        async with asyncio.timeout_at(deadline_s):
            output = await _whole_answer(agent, question, number, usage)
    except TimeoutError:
        message = f"the judge gave no answer within {question.total_s:g} s"
        return NoAnswer(kind="JudgeTimeout", message=message, spent=_spent(usage))
    except (AgentRunError, httpx2.HTTPError) as error:
        kind, message = _explained(error)
        return NoAnswer(kind=kind, message=_without(access, message), spent=_spent(usage))
    return Answer(output=output, spent=_spent(usage))


async def _whole_answer(
    agent: Agent[Any, R], question: Question[R], number: int, usage: RunUsage
) -> R:
    """The answer; one that was cut off or refused is not asked for again.

    Raises: AgentRunError, httpx2.HTTPError where there is none.
    """
    settings = (
        ModelSettings() if question.seed is None else ModelSettings(seed=question.seed + number)
    )
    async with agent.iter(
        question.prompt, usage=usage, model_settings=settings, infer_name=False
    ) as run:
        async for node in run:
            if Agent.is_call_tools_node(node):
                _require_whole(node.model_response)
    if run.result is None:
        raise UnexpectedModelBehavior("the conversation ended without an answer")
    return run.result.output


def _require_whole(response: ModelResponse) -> None:
    if response.finish_reason == "length":
        raise OutputTokenLimitExceeded("the answer reached the token limit")
    if response.finish_reason == "content_filter":
        raise ContentFilterError((response.text or "no reason was given")[:500])


def _agent(model: Model[Any], question: Question[R]) -> Agent[Any, R]:
    settings = ModelSettings(max_tokens=question.max_tokens, max_retries=0)
    if question.temperature is not None:
        settings["temperature"] = question.temperature
    agent: Agent[Any, R] = Agent(
        model,
        name="judge",
        output_type=_output(question),
        instructions=question.instructions,
        model_settings=settings,
        retries=question.re_asks,
    )
    agent.instrument = False

    def checked(answer: R) -> R:
        problem = question.check(answer)
        if problem:
            raise ModelRetry(problem)
        return answer

    agent.output_validator(checked)
    return agent


def _output(question: Question[R]) -> Any:
    if question.output_mode == "native":
        return NativeOutput(question.answer, name="ruling")
    if question.output_mode == "prompted":
        return PromptedOutput(question.answer, name="ruling")
    return ToolOutput(question.answer, name="give_ruling")


def _explained(error: AgentRunError | httpx2.HTTPError) -> tuple[str, str]:
    """The kind of a failure to judge, and a sentence about it."""
    if isinstance(error, ContentFilterError):
        return "JudgeRefused", f"the judge refused to answer: {error.message}"
    if isinstance(error, OutputTokenLimitExceeded):
        return "JudgeTruncated", "the judge's answer was cut off; raise max_tokens"
    if isinstance(error, UnexpectedModelBehavior):
        return "JudgeNonsense", f"the judge gave no usable answer: {_root(error)}"
    return _of_endpoint(error)


def _of_endpoint(error: AgentRunError | httpx2.HTTPError) -> tuple[str, str]:
    """The same where it is not the model's answer that failed, but the request."""
    redirect = next((e for e in _chain(error) if isinstance(e, Redirected)), None)
    if redirect is not None:
        return "JudgeRedirected", str(redirect)
    if isinstance(error, ModelHTTPError):
        return _of_status(error)
    unread = next((e for e in _chain(error) if isinstance(e, httpx2.DecodingError)), None)
    if unread is not None:
        return "JudgeNonsense", f"the judge's endpoint gave no usable answer: {unread}"
    if any(isinstance(e, (ModelTimeoutError, httpx2.TimeoutException)) for e in _chain(error)):
        return "JudgeTimeout", "the judge's endpoint did not answer in time"
    if isinstance(error, (ModelConnectionError, httpx2.HTTPError)):
        return "JudgeUnreachable", f"the judge's endpoint cannot be reached: {_root(error)}"
    return "JudgeNonsense", f"the judge's endpoint gave no usable answer: {_root(error)}"


def _of_status(error: ModelHTTPError) -> tuple[str, str]:
    status = error.status_code
    said = f": {str(error.body)[:500]}" if error.body else ""
    if status in (401, 403):
        return "JudgeUnauthorized", f"the judge's endpoint refused the key (status {status}){said}"
    if status in RETRYABLE or status >= 500:
        return "JudgeUnavailable", f"the judge's endpoint answered {status} to every attempt"
    return "JudgeRejected", f"the judge's endpoint answered {status}{said}"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _root(error: BaseException) -> str:
    """The text of the error, and of the one that all began with."""
    *_, last = _chain(error)
    first = f"{type(error).__name__}: {error}"
    return first if last is error else f"{first} ({type(last).__name__}: {last})"


def _without(access: Access, text: str) -> str:
    """The text without the key, should an endpoint have sent it back."""
    return text.replace(access.api_key, "***") if access.api_key else text


def _spent(usage: RunUsage) -> Spent:
    known = usage.requests > usage.unmeasured_requests
    tokens = (usage.input_tokens, usage.output_tokens)
    if not known or min(tokens) < 0:  # an endpoint may say anything
        return Spent()
    cost = None if usage.cost is None else float(usage.cost)
    return Spent(
        usd=cost if cost is not None and cost >= 0 else None,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
    )
