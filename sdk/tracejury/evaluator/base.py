"""What every evaluator is: a frozen model whose fields are its config."""

from __future__ import annotations

import builtins
import inspect
from abc import abstractmethod
from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar, Generic

from pydantic import ConfigDict
from typing_extensions import TypeVar

from tracejury.evaluator.checks import check_class_variables, check_definition
from tracejury.evaluator.hashing import fingerprint_of
from tracejury.evaluator.names import WithAliases
from tracejury.result import Failure, Score, Skip
from tracejury.trace import Trace


class Criteria(WithAliases):
    """What varies per case, such as an expected answer; a case's criteria are validated by it."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        protected_namespaces=(),
    )


C = TypeVar("C", bound=Criteria, default=Criteria)

Judgement = bool | float | Score | Skip | Failure | Mapping[str, Any]
Returned = Judgement | Awaitable[Judgement]


class Evaluator(WithAliases, Generic[C]):
    """A check of one trace; subclass it, name its `type`, declare its config, write `evaluate`.

    The fields are the config: validated, unknown keys refused, frozen; `aliases` maps other
    names under which they are taken. `version` is raised by the author when results change;
    `timeout_s` is the longest run where the service's own setting does not fit. `waits` says that
    a run mostly waits for something outside, such as a model: the service runs such evaluators
    beside each other, in threads, and no other evaluator waits for them. Left out, an async
    `evaluate` waits and another does not. A config field
    named `threshold` is the value from which a score without a verdict of its own passes. A
    class with abstract methods left is a base for others and needs no `type`.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        validate_by_name=True,
        validate_by_alias=True,
        protected_namespaces=(),
    )

    type: ClassVar[str]
    version: ClassVar[int] = 1
    label: ClassVar[str] = ""
    timeout_s: ClassVar[float | None] = None
    waits: ClassVar[bool | None] = None
    source_hash: ClassVar[str] = ""
    _criteria_type: ClassVar[builtins.type[Criteria]] = Criteria

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check what must hold before the fields are read."""
        super().__init_subclass__(**kwargs)
        check_class_variables(cls)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Check the definition.

        Raises: DefinitionError where the class can never work.
        """
        super().__pydantic_init_subclass__(**kwargs)
        for argument in cls.__pydantic_generic_metadata__["args"]:
            if isinstance(argument, type) and issubclass(argument, Criteria):
                cls._criteria_type = argument
        check_definition(cls, Criteria)

    @abstractmethod
    def evaluate(self, trace: Trace, criteria: C, /) -> Returned:
        """Judge the trace: a bool, a number in [0, 1], a `Score`, a `Skip`, a mapping, or async."""

    @classmethod
    def criteria_type(cls) -> builtins.type[Criteria]:
        """The model of this evaluator's criteria; `Criteria` itself where it takes none."""
        return cls._criteria_type

    @classmethod
    def config_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the config."""
        return cls.model_json_schema()

    @classmethod
    def criteria_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the criteria."""
        return cls.criteria_type().model_json_schema()

    def fingerprint(self) -> str:
        """16 hex digits of type, version and config with defaults: equal ones judge alike.

        An evaluator from a file of a plugin has the hash of that file in it.
        """
        config = self.model_dump(by_alias=True)
        return fingerprint_of(self.type, self.version, config, self.source_hash)


def does_wait(evaluator: Evaluator[Any]) -> bool:
    """Whether a run of the evaluator mostly waits for something outside."""
    waits = evaluator.waits
    return inspect.iscoroutinefunction(type(evaluator).evaluate) if waits is None else waits
