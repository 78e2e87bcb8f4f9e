"""Models of other systems, filled from a trace that did not record all of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, PrivateAttr


class NotRecorded(Exception):
    """What an evaluator read was not recorded in the trace; the message says what is missing."""


class MayLack(BaseModel):
    """A model some of whose fields may stand for nothing: reading them raises NotRecorded.

    Other systems have 0 or "" where nothing was recorded, which an evaluator would judge as if
    it were so.
    """

    _reasons: Mapping[str, str] = PrivateAttr(default_factory=dict)

    def lacking(self, reasons: Mapping[str, str]) -> Self:
        """This model without the fields named; the reasons say why they are missing."""
        copy = self.model_copy()
        for name in reasons:
            copy.__dict__.pop(name, None)
        copy._reasons = dict(reasons)
        return copy

    def __getattr__(self, name: str) -> Any:
        """Say why a field is missing; called only for what is not there."""
        private = object.__getattribute__(self, "__pydantic_private__") or {}
        reason = private.get("_reasons", {}).get(name)
        if reason is not None:
            raise NotRecorded(reason)
        if name in private:
            return private[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
