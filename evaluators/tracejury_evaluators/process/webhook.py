"""`webhook`: an HTTP endpoint as an evaluator."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import httpx
from pydantic import Field, SecretStr, field_validator

from tracejury.evaluator import Evaluator
from tracejury.result import Failure, Outcome
from tracejury.trace import Trace
from tracejury_evaluators.endpoint import Asked
from tracejury_evaluators.facts import missing_output
from tracejury_evaluators.payload import PayloadCriteria, payload_bytes
from tracejury_evaluators.process.answer import outcome_of_answer, said_in
from tracejury_evaluators.process.post import AnswerTooLarge, Post, Reply, send
from tracejury_evaluators.process.target import check_header_types, check_headers, check_url

FAILED = "WebhookFailed"
UNAVAILABLE = "WebhookUnavailable"
"""The endpoint is out; another run might have been judged no better."""
SPARE_S = 10.0


class Webhook(Evaluator[PayloadCriteria]):
    """Judges by an HTTP endpoint: it is posted the run as JSON and answers with its verdict.

    Input and output are those of `process`. The URL is the config's alone; nothing in a trace
    can change it, redirects are not followed, and the endpoint is asked again, at growing
    intervals, where it cannot be reached or answers 429 or 5xx. Any other status than 2xx is a
    failure that keeps what it said. Skipped where the answer was not captured.
    """

    type: ClassVar[str] = "webhook"
    label: ClassVar[str] = "Webhook"
    waits: ClassVar[bool] = True

    url: str = Field(description="where the run is posted to, `https://` or `http://`")
    headers: dict[str, SecretStr] = Field(
        default={}, description="headers to send; take secrets from the environment: `${TOKEN}`"
    )
    timeout: float = Field(
        default=20.0,
        gt=0,
        le=3600,
        description="longest wait for the verdict, all attempts together, in seconds",
    )
    attempts: int = Field(default=3, ge=1, le=10, description="how often it is asked at most")
    max_output_bytes: int = Field(
        default=1 << 20, gt=0, le=16 << 20, description="largest answer that is read, in bytes"
    )
    requires_output: bool = Field(
        default=True, description="skip runs whose answer was not captured; false posts '' for it"
    )
    threshold: float = Field(default=1.0, ge=0, le=1, description="score from which it passes")

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        check_url(url, "a webhook's URL looks like https://checks.example.com/judge")
        return url

    @field_validator("headers", mode="before")
    @classmethod
    def _is_mapping(cls, headers: object) -> object:
        check_header_types(headers, (str, SecretStr))
        return headers

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        check_headers((name, value.get_secret_value()) for name, value in headers.items())
        return headers

    @property
    def timeout_s(self) -> float:  # type: ignore[override]
        """The longest run: that of the endpoint, and what it takes to write and read."""
        return self.timeout + SPARE_S

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The endpoint that is asked."""
        return (Asked(model="", url=self._place),)

    async def evaluate(self, trace: Trace, criteria: PayloadCriteria) -> Outcome:
        skip = missing_output(trace) if self.requires_output else None
        if skip is not None:
            return skip
        try:
            async with asyncio.timeout(self.timeout):
                reply = await send(self._post(payload_bytes(trace, criteria)))
        except TimeoutError:
            return Failure("timeout", f"{self._place} gave no verdict within {self.timeout:g} s")
        except AnswerTooLarge:
            limit = self.max_output_bytes
            return Failure("TooMuchOutput", f"{self._place} answered more than {limit} bytes")
        except httpx.HTTPError as error:
            why = f"{type(error).__name__}: {error}"
            return Failure(UNAVAILABLE, f"{self._place} gave no answer: {why}; check the url")
        return self._outcome(reply)

    @property
    def _place(self) -> str:
        """The URL without its query, which may hold a secret."""
        return str(httpx.URL(self.url).copy_with(query=None, fragment=None))

    def _post(self, body: bytes) -> Post:
        return Post(
            url=self.url,
            headers={name: value.get_secret_value() for name, value in self.headers.items()},
            body=body,
            timeout_s=self.timeout,
            attempts=self.attempts,
            max_answer_bytes=self.max_output_bytes,
        )

    def _outcome(self, reply: Reply) -> Outcome:
        if 200 <= reply.status < 300:
            return outcome_of_answer(reply.body, self.threshold)
        said = said_in(reply.body)
        if 300 <= reply.status < 400:
            said = f"it points to {reply.location!r}, which is not followed; write that as the url"
        is_out = reply.status == 429 or reply.status >= 500
        message = f"{self._place} answered with status {reply.status}; {said}"
        return Failure(UNAVAILABLE if is_out else FAILED, message)
