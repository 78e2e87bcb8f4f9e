"""Evaluators of retrieved documents against those a case expects."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal
from unicodedata import normalize

from pydantic import Field

from tracejury.evaluator import Criteria, Evaluator
from tracejury.result import Score, Skip
from tracejury.trace import Document, Trace
from tracejury_evaluators.facts import altered_output, counted, listed
from tracejury_evaluators.retrieval.retrievals import Retrieval, recorded_retrievals

WHITE_SPACE = re.compile(r"\s+")
NAMES_OF_EXPECTED: Mapping[str, str] = {
    "expected_documents": "expected",
    "expectedDocuments": "expected",
    "expected_ids": "expected",
    "expectedIds": "expected",
    "relevant": "expected",
}
EXPECTED = "ids of the documents expected, or their metadata or parts of their content"

MatchBy = Literal["id", "metadata", "content"]


class ExpectedDocuments(Criteria):
    """The documents that one case expects."""

    aliases: ClassVar[Mapping[str, str]] = NAMES_OF_EXPECTED

    expected: list[str] | None = Field(default=None, description=EXPECTED)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The documents looked at, best first, each with what it was expected as."""

    expected: Sequence[str]
    names: Sequence[str]
    matches: Sequence[Sequence[str]]
    spans: Sequence[str]

    @cached_property
    def relevant(self) -> int:
        """How many of the documents were expected."""
        return sum(bool(match) for match in self.matches)

    @cached_property
    def missing(self) -> list[str]:
        """What was expected and not found."""
        there = {text for match in self.matches for text in match}
        return [text for text in self.expected if text not in there]


class _Ranked(Evaluator[ExpectedDocuments]):
    """Compares the documents that a run retrieved with those expected of the case."""

    aliases: ClassVar[Mapping[str, str]] = NAMES_OF_EXPECTED

    expected: list[str] | None = Field(default=None, description=EXPECTED)
    k: int | None = Field(
        default=None, ge=1, description="only the first k documents of each retrieval count"
    )
    match_by: MatchBy = Field(
        default="id",
        description="id: ids are equal; metadata: the value of `metadata_key` is equal; "
        "content: the expected text is in the content, case and white space aside",
    )
    metadata_key: str = Field(default="source", description="key of the metadata to match by")
    retrievals: Literal["all", "first", "last"] = Field(
        default="all", description="which retrievals of a run count; last: after reranking"
    )
    threshold: float = Field(default=1.0, ge=0, le=1, description="value from which it passes")

    @abstractmethod
    def judged(self, found: Found) -> tuple[float, str]:
        """The value and the reason."""

    def nothing_expected(self, found: Found) -> Score | Skip:
        """The judgement of a case that expects no document."""
        return Skip(f"no document is expected, and {counted(len(found.names), 'document')} found")

    def evaluate(self, trace: Trace, criteria: ExpectedDocuments) -> Score | Skip:
        expected = self.expected if criteria.expected is None else criteria.expected
        if expected is None:
            return Skip("no expected documents are given, neither in the config nor the criteria")
        retrievals = recorded_retrievals(trace)
        if isinstance(retrievals, Skip):
            return retrievals
        found = self._found(list(dict.fromkeys(expected)), self._chosen(retrievals))
        if isinstance(found, Skip):
            return found
        return self._score(trace, found) if expected else self.nothing_expected(found)

    def _chosen(self, retrievals: Sequence[Retrieval]) -> Sequence[Retrieval]:
        chosen = {"all": retrievals, "first": retrievals[:1], "last": retrievals[-1:]}
        return chosen[self.retrievals]

    def _found(self, expected: Sequence[str], retrievals: Sequence[Retrieval]) -> Found | Skip:
        documents = [d for one in retrievals for d in one.documents]
        if documents and not any(self._keys(document) for document in documents):
            what = {"id": "an id", "metadata": f"metadata {self.metadata_key!r}"}
            return Skip(f"no retrieved document has {what.get(self.match_by, 'any content')}")
        kept: dict[str, Document] = {}
        for one in retrievals:
            distinct = self._distinct(one.documents)
            kept |= {name: distinct[name] for name in list(distinct)[: self.k] if name not in kept}
        by_content = self.match_by == "content"
        wanted = {text: _plain(text) if by_content else text for text in expected}
        return Found(
            expected=expected,
            names=list(kept),
            matches=[self._matches(document, wanted) for document in kept.values()],
            spans=[one.span_id for one in retrievals if one.span_id],
        )

    def _distinct(self, documents: Iterable[Document]) -> dict[str, Document]:
        distinct: dict[str, Document] = {}
        for document in documents:
            distinct.setdefault(self._name(document), document)
        return distinct

    def _keys(self, document: Document) -> list[str]:
        """What a document can be matched by; nothing where it was not recorded."""
        if self.match_by == "metadata":
            value = document.metadata.get(self.metadata_key)
            values = value if isinstance(value, (list, tuple)) else [value]
            return [str(item) for item in values if item is not None]
        text = document.id if self.match_by == "id" else document.content
        return [text] if text else []

    def _name(self, document: Document) -> str:
        """What makes a document the same as another."""
        return "\0".join(self._keys(document)) or document.id or document.content

    def _matches(self, document: Document, wanted: Mapping[str, str]) -> list[str]:
        keys = self._keys(document)
        if self.match_by == "content":
            content = _plain(keys[0]) if keys else ""
            return [text for text, plain in wanted.items() if plain and plain in content]
        return [key for key in keys if key in wanted]

    def _score(self, trace: Trace, found: Found) -> Score | Skip:
        value, reason = self.judged(found)
        missing = set(found.missing)
        altered = altered_output(trace)
        hidden = altered == "truncated" or (altered and self.match_by == "content")
        if hidden and value < self.threshold:
            return Skip(f"the recorded content was {altered}; {reason}")
        return Score(
            value,
            reason=reason,
            hits=[text for text in found.expected if text not in missing],
            misses=found.missing,
            details={"retrieved": _shown(found.names), "relevant": found.relevant},
            evidence=found.spans,
        )


class RetrievalPrecision(_Ranked):
    """The share of the retrieved documents that the case expects.

    Where fewer than `k` documents were retrieved, it is the share of those. Nothing retrieved
    where something was expected is a fail; where nothing is expected (an empty list), nothing
    retrieved passes and anything retrieved fails. Documents that came twice count once, where
    they came first. Skipped where no documents are named, where the trace has no retrieval or
    none was recorded, where no document has what it is matched by, and where content was
    truncated (or redacted, when matched by content) and the value is below the threshold.
    """

    type: ClassVar[str] = "retrieval-precision"
    label: ClassVar[str] = "Retrieval precision"

    def judged(self, found: Found) -> tuple[float, str]:
        documents = len(found.names)
        value = found.relevant / documents if documents else 0.0
        return value, f"{found.relevant} of {counted(documents, 'document')} retrieved was expected"

    def nothing_expected(self, found: Found) -> Score | Skip:
        documents = counted(len(found.names), "document")
        return Score(
            float(not found.names),
            "fail" if found.names else "pass",
            f"no document is expected, and {documents} retrieved",
            details={"retrieved": _shown(found.names), "relevant": 0},
            evidence=found.spans,
        )


class RetrievalRecall(_Ranked):
    """The share of the expected documents that were retrieved.

    Documents that came twice count once. Skipped where no documents are named or expected,
    where the trace has no retrieval or none was recorded, where no document has what it is
    matched by, and where content was truncated (or redacted, when matched by content) and the
    value is below the threshold.
    """

    type: ClassVar[str] = "retrieval-recall"
    label: ClassVar[str] = "Retrieval recall"

    def judged(self, found: Found) -> tuple[float, str]:
        expected, missing = len(found.expected), found.missing
        reason = f"{expected - len(missing)} of {counted(expected, 'expected document')} retrieved"
        told = f"; missing: {listed(missing)}" if missing else ""
        return 1 - len(missing) / expected, reason + told


class RetrievalHit(_Ranked):
    """Passes if one of the expected documents is among the first `k` of a retrieval.

    The reason names its rank, counted from 1 over the documents looked at. Skipped where no
    documents are named or expected, where the trace has no retrieval or none was recorded,
    where no document has what it is matched by, and where content was truncated (or redacted,
    when matched by content) and none was found.
    """

    type: ClassVar[str] = "retrieval-hit"
    label: ClassVar[str] = "Retrieval hit"

    def judged(self, found: Found) -> tuple[float, str]:
        rank = next((rank for rank, match in enumerate(found.matches, 1) if match), None)
        documents = counted(len(found.names), "document")
        if rank is None:
            return 0.0, f"none of {documents} retrieved was expected"
        return 1.0, f"document {rank} of {documents} retrieved was expected"


def _plain(text: str) -> str:
    """The text with case folded and white space made single spaces."""
    return WHITE_SPACE.sub(" ", normalize("NFC", text).casefold()).strip()


def _shown(names: Sequence[str]) -> list[Any]:
    return [name[:80] for name in names[:50]]
