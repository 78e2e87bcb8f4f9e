"""How alike the names of the tools called and those expected are."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field
from rapidfuzz.distance import Levenshtein

from tracejury.evaluator import Evaluator
from tracejury.result import Score, Skip
from tracejury.similarity import jaccard, lcs_length, multiset_jaccard
from tracejury.trace import Trace
from tracejury_evaluators.facts import call_spans, listed
from tracejury_evaluators.tools.expected import ExpectedTools, expected_names
from tracejury_evaluators.tools.fields import Counted, Spelling, Threshold, ToolNames
from tracejury_evaluators.tools.selection import counted_calls, spelled

Counting = Literal["set", "multiset"]
COUNTING = "set: a tool counts once; multiset: as often as it was called"


class NameSimilarity(Evaluator[ExpectedTools]):
    """A similarity of the names of the tools called and those expected."""

    expected_tools: ToolNames = None
    threshold: Threshold = 1.0
    calls: Counted = "asked"
    names: Spelling = "exact"

    def evaluate(self, trace: Trace, criteria: ExpectedTools) -> Score | Skip:
        expected = expected_names(trace, criteria.expected_tools, self.expected_tools)
        if isinstance(expected, Skip):
            return expected
        calls = counted_calls(trace.tool_calls, self.calls)
        wanted = spelled(expected, self.names)
        called = spelled([call.name for call in calls], self.names)
        value, facts = self.compare(wanted, called)
        missing, extra = self.difference(wanted, called)
        unexpected = set(extra)
        return Score(
            value,
            reason=_said(value, missing, extra),
            hits=sorted(set(wanted).intersection(called)),
            misses=[*missing, *extra],
            details={"missing": missing, "unexpected": extra, **facts},
            evidence=call_spans(
                call for call, name in zip(calls, called, strict=True) if name in unexpected
            ),
        )

    @abstractmethod
    def compare(
        self, expected: Sequence[str], called: Sequence[str]
    ) -> tuple[float, Mapping[str, Any]]:
        """The similarity in [0, 1], and what else goes into the details."""

    def difference(
        self, expected: Sequence[str], called: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """The names missing and those unexpected, each as often as it is."""
        wanted, seen = Counter(expected), Counter(called)
        return sorted((wanted - seen).elements()), sorted((seen - wanted).elements())


class CountedSimilarity(NameSimilarity):
    """A similarity that takes the names as sets or as multisets."""

    counting: Counting = Field(default="set", description=COUNTING)

    def difference(
        self, expected: Sequence[str], called: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        if self.counting == "multiset":
            return super().difference(expected, called)
        return sorted(set(expected) - set(called)), sorted(set(called) - set(expected))


class ToolJaccard(CountedSimilarity):
    """Jaccard similarity of the tools called and those expected: in both, divided by in either.

    Order does not count, and repeats do not either unless `counting` is multiset. Nothing
    expected and nothing called are alike (1.0). Passes from `threshold` on. A case's criteria go
    before the config. Skipped where neither names the tools, and where calls could not be seen.
    """

    type: ClassVar[str] = "tool-jaccard"
    label: ClassVar[str] = "Tool set similarity"

    def compare(
        self, expected: Sequence[str], called: Sequence[str]
    ) -> tuple[float, Mapping[str, Any]]:
        measure = multiset_jaccard if self.counting == "multiset" else jaccard
        return measure(expected, called), {}


class ToolF1(CountedSimilarity):
    """F1 of the tools called against those expected: how complete and how free of others.

    Precision is the share of calls that were expected, recall the share of expected calls that
    were made; both are in the details, None where there is nothing to divide by. Order does not
    count; repeats do, unless `counting` is set. Nothing expected and nothing called are alike
    (1.0). Passes from `threshold` on. A case's criteria go before the config. Skipped where
    neither names the tools, and where calls could not be seen.
    """

    type: ClassVar[str] = "tool-f1"
    label: ClassVar[str] = "Tool F1"

    counting: Counting = Field(default="multiset", description=COUNTING)

    def compare(
        self, expected: Sequence[str], called: Sequence[str]
    ) -> tuple[float, Mapping[str, Any]]:
        if self.counting == "set":
            expected, called = list(set(expected)), list(set(called))
        common = (Counter(expected) & Counter(called)).total()
        size = len(expected) + len(called)
        return 2 * common / size if size else 1.0, {
            "precision": common / len(called) if called else None,
            "recall": common / len(expected) if expected else None,
        }


class ToolEditDistance(NameSimilarity):
    """How few edits turn the names of the calls made into those expected, in order.

    An edit inserts, removes or replaces one call; the value is 1 minus the edits divided by the
    longer length. `distance` in the details is their number. Nothing expected and nothing called
    are alike (1.0). Passes from `threshold` on. A case's criteria go before the config. Skipped
    where neither names the tools, and where calls could not be seen.
    """

    type: ClassVar[str] = "tool-edit-distance"
    label: ClassVar[str] = "Tool edit distance"

    def compare(
        self, expected: Sequence[str], called: Sequence[str]
    ) -> tuple[float, Mapping[str, Any]]:
        distance = Levenshtein.distance(*_numbered(expected, called))
        longer = max(len(expected), len(called))
        return 1 - distance / longer if longer else 1.0, {"distance": distance}


class ToolLcs(NameSimilarity):
    """The longest common subsequence of the names of the calls made and of those expected.

    The order counts, calls between them are allowed. `measure` says what its length is divided
    by: `ratio` both lengths (twice the common part), `longer` the longer one, `recall` the
    number of expected calls, `precision` the number of calls made. `length` in the details is
    the length itself. Nothing expected and nothing called are alike (1.0). Passes from
    `threshold` on. A case's criteria go before the config. Skipped where neither names the
    tools, and where calls could not be seen.
    """

    type: ClassVar[str] = "tool-lcs"
    label: ClassVar[str] = "Tool order similarity"

    measure: Literal["ratio", "longer", "recall", "precision"] = Field(
        default="ratio", description="what the common length is divided by"
    )

    def compare(
        self, expected: Sequence[str], called: Sequence[str]
    ) -> tuple[float, Mapping[str, Any]]:
        length = lcs_length(expected, called)
        size = {
            "ratio": (len(expected) + len(called)) / 2,
            "longer": max(len(expected), len(called)),
            "recall": len(expected),
            "precision": len(called),
        }[self.measure]
        if size:
            return length / size, {"length": length}
        return float(not expected and not called), {"length": length}


def _numbered(a: Sequence[str], b: Sequence[str]) -> tuple[list[int], list[int]]:
    numbers: dict[str, int] = {}
    return (
        [numbers.setdefault(name, len(numbers)) for name in a],
        [numbers.setdefault(name, len(numbers)) for name in b],
    )


def _said(value: float, missing: Sequence[str], extra: Sequence[str]) -> str:
    if not missing and not extra:
        if value == 1:
            return "the tools called are those expected"
        return f"similarity {value:.2f}; the same tools in another order"
    parts = [f"missing: {listed(missing)}"] if missing else []
    parts += [f"unexpected: {listed(extra)}"] if extra else []
    return f"similarity {value:.2f}; {'; '.join(parts)}"
