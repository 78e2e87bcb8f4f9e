"""What an OTLP receiver answers, and what is done about it. Pure.

Source: OpenTelemetry protocol specification, "Failures", "OTLP/gRPC Throttling",
"OTLP/HTTP Response". Where a refusal may be a mistake of the configuration, such as a wrong key
or path, the results wait instead of being given up.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
LONGEST_ASKED_WAIT_S = 300.0
SAID_CHARACTERS = 300
_HARMLESS_SHARE = 0.2
_ABOUT_THE_RECORDS = (400, 413, 422)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The request was taken, all but `rejected` of its records."""

    rejected: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Something in the request can never be taken."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """The request may be taken later, at the earliest after `wait_s` where that was said."""

    reason: str
    wait_s: float | None = None


Answer = Accepted | Refused | Away


def answer_of_http(status: int, body: bytes, location: str, retry_after: str) -> Answer:
    """Return what the answer of an OTLP/HTTP receiver means."""
    if 200 <= status < 300:
        return _accepted(body)
    if status in _ABOUT_THE_RECORDS:
        return Refused(reason=f"it answered with status {status}{_said(body)}")
    if 300 <= status < 400:
        return Away(reason=f"it points to {location[:SAID_CHARACTERS]!r}, which is not followed")
    wait_s = float(retry_after) if retry_after.isdecimal() and len(retry_after) < 7 else None
    return Away(reason=f"it answered with status {status}{_said(body)}", wait_s=wait_s)


def answer_of_grpc(code: str, details: str, retry_s: float | None = None) -> Answer:
    """Return what a status of gRPC other than OK means; `code` is its name."""
    reason = f"it answered {code}: {details[:SAID_CHARACTERS]}"
    return (
        Refused(reason=reason)
        if code == "INVALID_ARGUMENT"
        else Away(reason=reason, wait_s=retry_s)
    )


def accepted_response(response: ExportLogsServiceResponse) -> Accepted:
    """Return what a receiver says that took the request."""
    partial = response.partial_success
    return Accepted(
        rejected=max(0, partial.rejected_log_records),
        message=partial.error_message[:SAID_CHARACTERS],
    )


def pause_s(failures: int, asked_s: float | None) -> float:
    """Return how long to wait after so many failures in a row, and what the receiver asked for."""
    grown_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failures - 1, 16))
    scattered_s = grown_s * (1 + random.uniform(-_HARMLESS_SHARE, _HARMLESS_SHARE))
    return max(scattered_s, min(asked_s or 0.0, LONGEST_ASKED_WAIT_S))


def _accepted(body: bytes) -> Accepted:
    try:
        return accepted_response(ExportLogsServiceResponse.FromString(body))
    except DecodeError:
        return Accepted()


def _said(body: bytes) -> str:
    """Return what the body says, as far as it is text."""
    text = body[: 4 * SAID_CHARACTERS].decode("utf-8", "replace")[:SAID_CHARACTERS].strip()
    return f": {text!r}" if text.isprintable() and text else ""
