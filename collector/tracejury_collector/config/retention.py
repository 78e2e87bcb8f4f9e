"""How long, and how much, is kept."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tracejury_collector.config.fields import Bytes, Seconds, Section

MAX_PROJECTS = 1000
ProjectName = Annotated[str, Field(min_length=1, max_length=255)]
Forever = Literal["forever"]


class ProjectRetention(Section):
    """What is kept of one project; what is left out is as for all."""

    spans: Seconds | Forever | None = Field(
        default=None,
        description="how long what arrived of its traces is kept, in seconds or `forever`; "
        "left out, `retention.spans`",
    )
    results: Seconds | Forever | None = Field(
        default=None,
        description="how long its results, decisions and labels are kept, in seconds or "
        "`forever`; left out, `retention.results`",
    )
    size: Bytes | None = Field(
        default=None,
        description="what its traces may take of the file, in bytes, as estimated; "
        "left out, no limit of its own",
    )


class RetentionSettings(Section):
    """When what is stored is deleted again ([retention.md](retention.md)); by default never."""

    spans: Seconds | Forever = Field(
        default="forever",
        description="how long what arrived of a trace is kept, in seconds: spans, log records, "
        "calls, messages, documents ([retention.md](retention.md))",
    )
    results: Seconds | Forever = Field(
        default="forever",
        description="how long results, decisions, labels and the totals of traces are kept, "
        "in seconds; at least as long as spans",
    )
    size: Bytes | None = Field(
        default=None,
        description="what the database may hold, in bytes, before what arrived of the oldest "
        "traces is deleted; left out, no limit",
    )
    projects: dict[ProjectName, ProjectRetention] = Field(
        default={}, max_length=MAX_PROJECTS, description="other limits for some projects, by name"
    )

    @model_validator(mode="after")
    def _results_outlive_spans(self) -> Self:
        for name in ("", *self.projects):
            spans_s, results_s = self.ages_of(name)
            if results_s is not None and (spans_s is None or results_s < spans_s):
                place = f"retention.projects.{name}.results" if name else "retention.results"
                raise ValueError(
                    f"{place}: {results_s:g} s is shorter than spans are kept; "
                    "results mean little without what they judge: set `spans` to no more than that"
                )
        return self

    def ages_of(self, project: str) -> tuple[float | None, float | None]:
        """Return how long (spans, results) of a project are kept, in seconds; None: forever."""
        own = self.projects.get(project)
        spans = own.spans if own and own.spans is not None else self.spans
        results = own.results if own and own.results is not None else self.results
        return _age(spans), _age(results)

    @property
    def is_limited(self) -> bool:
        """Whether anything is ever deleted."""
        ages = [age for name in ("", *self.projects) for age in self.ages_of(name)]
        sizes = [self.size, *(project.size for project in self.projects.values())]
        return any(limit is not None for limit in (*ages, *sizes))


def _age(value: float | Forever) -> float | None:
    return None if value == "forever" else float(value)
