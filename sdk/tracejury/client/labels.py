"""Calls about labels."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.client.call import call, every
from tracejury.client.request import Repeat, Request, document, get, nothing, segment, send
from tracejury.rest import Label, LabelInput, LabelsInput, LabelsStored, Page


class LabelCalls:
    """What people and programs say about traces and sessions."""

    @call
    def label(self, label: LabelInput) -> Request[LabelsStored]:
        """Store one label."""
        return _sent([label])

    @call
    def add_labels(self, labels: Sequence[LabelInput]) -> Request[LabelsStored]:
        """Store labels, at most 1000 at a time; ids of yours make it safe to send them again."""
        return _sent(labels)

    @call
    def labels(
        self,
        *,
        trace_id: str | None = None,
        span_id: str | None = None,
        session_id: str | None = None,
        project: str | None = None,
        name: str | None = None,
        verdict: str | None = None,
        author: str | None = None,
        source: str | None = None,
        since: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Request[Page[Label]]:
        """Return one page of labels, newest first."""
        params = {
            "trace_id": trace_id,
            "span_id": span_id,
            "session_id": session_id,
            "project": project,
            "name": name,
            "verdict": verdict,
            "author": author,
            "source": source,
            "since": since,
            "limit": limit,
            "cursor": cursor,
        }
        return get("/api/labels", Page[Label], params)

    all_labels = every(labels, Label)

    @call
    def delete_label(self, label_id: str) -> Request[None]:
        """Delete a label for good."""
        return send("DELETE", f"/api/labels/{segment(label_id)}", nothing)


def _sent(labels: Sequence[LabelInput]) -> Request[LabelsStored]:
    """Return the request that stores labels; with ids of the sender it may be made again."""
    body = LabelsInput(items=list(labels)).model_dump(mode="json", exclude_defaults=True)
    repeat: Repeat = "if_lost" if all(label.label_id for label in labels) else "never"
    return send("POST", "/api/labels", document(LabelsStored), body, repeat=repeat)
