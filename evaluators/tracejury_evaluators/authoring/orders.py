"""What a process of its own is asked to do with evaluators, and what it answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class Named(_Message):
    """A named evaluator of a configuration."""

    type: str
    config: dict[str, Any] = {}
    criteria: dict[str, Any] = {}
    timeout_s: float | None = None


class Judge(_Message):
    """The model that judges are; "" for what is left to the environment."""

    model: str = ""
    base_url: str = ""
    api_key: str = Field(default="", repr=False)


class Setup(_Message):
    """Where evaluators come from: plugins, whose relative paths start at `folder`, and names."""

    folder: str = "."
    plugins: list[str] = []
    named: dict[str, Named] = {}
    judge: Judge | None = None


class ListTypes(_Message):
    """Say which types there are."""

    task: Literal["types"] = "types"
    setup: Setup


class Wanted(_Message):
    """An evaluator to be tried: a type, a name of the configuration, or FILE.py[:CLASS].

    `label` is what the user wrote.
    """

    evaluator: str
    label: str
    config: dict[str, Any] | None = None
    criteria: dict[str, Any] | None = None


class Try(_Message):
    """Judge every trace by every evaluator, beginning with the pair of number `first`.

    Pairs go trace by trace; `skipped` are numbers of evaluators that are not tried.
    """

    task: Literal["try"] = "try"
    setup: Setup
    wanted: list[Wanted]
    traces: list[str] = Field(description="each the JSON of `dump_trace`")
    first: int = 0
    skipped: list[int] = []


class Examine(_Message):
    """Check what a file defines, and describe it.

    A file in UiPath's `evals/evaluators/custom` is described there in UiPath's own files.
    """

    task: Literal["examine"] = "examine"
    file: str


Order = ListTypes | Try | Examine


class TypeRow(_Message):
    """A type of evaluator, as it is explained."""

    type: str
    label: str
    family: str
    description: str
    version: int
    origin: str
    builtin: bool
    config_schema: dict[str, Any]
    criteria_schema: dict[str, Any]
    config_aliases: dict[str, str] = {}
    criteria_aliases: dict[str, str] = {}
    example: str = ""


class Ready(_Message):
    """An evaluator to be tried was built."""

    label: str
    type: str
    fingerprint: str
    timeout_s: float | None = None


class Judgement(_Message):
    """The outcome of the pair of number `pair`."""

    pair: int
    outcome: dict[str, Any]
    duration_ms: float


class Examined(_Message):
    """What a file defines, and what is wrong with it."""

    name: str
    row: TypeRow
    fingerprint: str | None = Field(description="of the config of defaults; null if it needs more")
    config: dict[str, Any]
    report: str = ""
    findings: list[str] = []
    documents: dict[str, str] = Field(
        default={}, description="files of UiPath's folder that describe it, by path"
    )


class Answer(_Message):
    """One line of a process's answer; one field is set, `written` beside `examined`."""

    problem: str | None = None
    types: list[TypeRow] | None = None
    ready: list[Ready] | None = None
    judgement: Judgement | None = None
    examined: list[Examined] | None = None
    written: list[str] | None = None
    done: bool = False
