"""Retrieved and reranked documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracejury.assembly.forest import Forest
from tracejury.assembly.nodes import Node
from tracejury.assembly.unwrap import output_text
from tracejury.dialects.decode import decode, to_content, to_float
from tracejury.trace import Document

_CONTENT = ("page_content", "content", "text", "document", "body")
_SCORES = ("score", "relevance_score", "similarity", "distance")
_LISTS = ("documents", "nodes", "results", "data", "hits")
_KINDS = frozenset({"retriever", "reranker"})
MAX_DOCUMENTS = 10_000


def find_documents(forest: Forest) -> tuple[Document, ...]:
    """The documents that retrievers and rerankers gave back, in order."""
    found: list[Document] = []
    for node in forest.nodes:
        if node.kind in _KINDS or "db.query.result" in (event.name for event in node.events):
            found.extend(_documents_of(node))
    return tuple(found[:MAX_DOCUMENTS])


def _documents_of(node: Node) -> list[Document]:
    query = _query(node)
    for value in node.reading.all("documents"):
        items = _listed(value)
        documents = [_document(item, query, node.span_id) for item in items]
        known = [document for document in documents if document is not None]
        if known:
            return known
    return []


def _query(node: Node) -> str:
    for value in node.reading.all("query"):
        data = decode(value)
        if isinstance(data, dict):
            data = next(
                (data[k] for k in ("query", "input", "question", "inputs") if k in data), data
            )
        text = to_content(data)
        if text:
            return text
    return ""


def _listed(value: Any) -> list[Any]:
    data = decode(value)
    if isinstance(data, dict):
        data = next(
            (decode(data[k]) for k in _LISTS if isinstance(decode(data.get(k)), list)), None
        )
    return data if isinstance(data, list) else []


def _document(item: Any, query: str, span_id: str) -> Document | None:
    if isinstance(item, str):
        return Document(content=item, query=query, span_id=span_id)
    if not isinstance(item, Mapping):
        return None
    inner = item.get("document", item.get("node"))
    data = {**item, **inner} if isinstance(inner, Mapping) else item
    kwargs = data.get("kwargs")
    data = kwargs if isinstance(kwargs, Mapping) and "page_content" in kwargs else data
    content = _content(data)
    identity = data.get("id", data.get("id_"))
    metadata = decode(data.get("metadata", data.get("meta")))
    if not content and identity is None:
        return None
    return Document(
        id="" if identity is None else output_text(identity),
        content=content,
        score=_score(data),
        metadata=metadata if isinstance(metadata, dict) else {},
        query=query,
        span_id=span_id,
    )


def _content(data: Mapping[str, Any]) -> str:
    for key in _CONTENT:
        if isinstance(text := data.get(key), str):
            return text
    return ""


def _score(data: Mapping[str, Any]) -> float | None:
    for key in _SCORES:
        if key in data and (score := to_float(data[key])) is not None:
            return score
    return None
