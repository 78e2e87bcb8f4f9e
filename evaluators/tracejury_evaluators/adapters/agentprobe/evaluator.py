"""AgentProbe's base class of evaluators."""

from __future__ import annotations

import inspect
import logging
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from tracejury.evaluator import Evaluator
from tracejury_evaluators.adapters.agentprobe.models import (
    EvalResult,
    EvalVerdict,
    TestCase,
    Trace,
)
from tracejury_evaluators.adapters.agentprobe.native import description_of, evaluator_class
from tracejury_evaluators.adapters.lacking import NotRecorded
from tracejury_evaluators.adapters.naming import kebab

log = logging.getLogger("tracejury")


class BaseEvaluator(ABC):
    """Subclass it, give `super().__init__` a name, write `async def _evaluate`.

    The parameters of `__init__` are the config of the evaluator of ours that stands for it; a
    parameter that is an evaluator itself is given as `{type: …, config: …}`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """The name under which results are reported."""
        return getattr(self, "_name", kebab(type(self).__name__))

    async def evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        """Run `_evaluate`: timed, and with a result of verdict ERROR for whatever it raises."""
        start = time.monotonic()
        try:
            result = self._evaluate(test_case, trace)
            found = await result if inspect.isawaitable(result) else result
            if not isinstance(found, EvalResult):
                raise TypeError(f"_evaluate returned {type(found).__name__}; return an EvalResult")
        except NotRecorded:
            raise
        except Exception as error:  # noqa: BLE001 - evaluators may raise anything
            log.warning("evaluator %s failed on %s: %s", self.name, test_case.name, error)
            return self._broken(error, (time.monotonic() - start) * 1e3)
        return found.model_copy(update={"duration_ms": (time.monotonic() - start) * 1e3})

    @abstractmethod
    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        """Judge the trace."""

    def _broken(self, error: Exception, duration_ms: float) -> EvalResult:
        return EvalResult(
            evaluator_name=self.name,
            verdict=EvalVerdict.ERROR,
            score=0.0,
            reason=f"Evaluation error: {error}",
            metadata={
                "duration_ms": duration_ms,
                "error_type": type(error).__name__,
                "error": str(error),
                "traceback": "".join(traceback.format_exception(error)),
            },
            duration_ms=duration_ms,
        )

    @classmethod
    def __tracejury_evaluator__(cls) -> type[Evaluator[Any]]:
        """The evaluator of ours that stands for this class.

        Raises: DefinitionError where its constructor cannot be given by a config.
        """
        return evaluator_class(cls)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take an evaluator, or the type and config of one that the registry knows."""
        return core_schema.with_info_plain_validator_function(
            cls._member,
            serialization=core_schema.plain_serializer_function_ser_schema(description_of),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The schema of a named type with its config."""
        properties = {"type": {"type": "string"}, "config": {"type": "object"}}
        return {"type": "object", "properties": properties, "required": ["type"]}

    @classmethod
    def _member(cls, value: Any, info: ValidationInfo) -> BaseEvaluator:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            raise ValueError(f"give a type and its config, not {type(value).__name__}")
        registry = (info.context or {}).get("registry")
        if registry is None:
            raise ValueError("types can be named only where a registry builds the evaluator")
        made = getattr(registry.build(value["type"], value.get("config")), "agentprobe", None)
        if not isinstance(made, cls):
            raise ValueError(f"{value['type']!r} is no {cls.__name__} written for AgentProbe")
        return made
