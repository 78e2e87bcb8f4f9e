"""What asking a judge must not leave behind: spans in the judged project, warnings in a log."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context as otel_context

SUPPRESSED = ("suppress_instrumentation", "suppress_language_model_instrumentation")
"""The keys by which instrumentations are told to look away."""


@contextmanager
def untraced() -> Iterator[None]:
    """Nothing that is instrumented makes spans inside."""
    context = otel_context.get_current()
    for key in SUPPRESSED:
        context = otel_context.set_value(key, True, context)
    token = otel_context.attach(context)
    try:
        yield
    finally:
        otel_context.detach(token)


class _Unwarned:
    """Warnings are ignored from the first entry to the last exit, however these interleave.

    `warnings.catch_warnings` alone restores what it found, and of two that overlap the second
    finds the first one's filters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._caught: warnings.catch_warnings[None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._caught is None:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.simplefilter("ignore")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._caught is not None:
                self._caught.__exit__(None, None, None)
                self._caught = None


unwarned = _Unwarned()
"""Libraries of providers warn of settings that a model does not take, and of old models."""
