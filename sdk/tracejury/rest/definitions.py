"""Rules and evaluators as they are defined."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tracejury.rest.base import Document

DefinitionKind = Literal["rule", "evaluator"]


class Definition(Document):
    """A rule or an evaluator in force, as it was written."""

    kind: DefinitionKind
    name: str
    source: Literal["file", "default", "api"] = Field(
        description="who defined it: the configuration file, nobody (it is there by default), "
        "or the API"
    )
    editable: bool = Field(description="whether the API can change it")
    body: dict[str, Any] = Field(description="as it was written, without defaults and secrets")
    version: str = Field(description="changes with every change of it; the ETag")
    fingerprint: str = Field(
        description="as results name it; an evaluator's, or that of the rule; '' while it is not "
        "in force"
    )
    criteria_hash: str = Field(description="hash of an evaluator's default criteria, '' for none")
    effective_from: str = Field(description="since when it is in force")
    fault: str = Field(
        description="why it cannot be used, or cannot be built any more; '' where it can"
    )
