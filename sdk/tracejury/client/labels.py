"""Calls about labels."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.client.connection import Connection, segment
from tracejury.rest import Label, LabelInput, LabelsInput, LabelsStored, Page


class LabelCalls(Connection):
    """What people and programs say about traces and sessions."""

    def label(self, label: LabelInput) -> LabelsStored:
        """Store one label."""
        return self.add_labels([label])

    def add_labels(self, labels: Sequence[LabelInput]) -> LabelsStored:
        """Store labels, at most 1000 at a time; ids of yours make it safe to send them again."""
        body = LabelsInput(items=list(labels)).model_dump_json(exclude_defaults=True)
        headers = {"content-type": "application/json"}
        answer = self.send("POST", "/api/labels", content=body, headers=headers)
        return self.parse(answer, LabelsStored)

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
    ) -> Page[Label]:
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
        return self.get("/api/labels", Page[Label], params)

    def delete_label(self, label_id: str) -> None:
        """Delete a label for good."""
        self.send("DELETE", f"/api/labels/{segment(label_id)}")
