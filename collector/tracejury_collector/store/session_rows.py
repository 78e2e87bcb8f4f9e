"""Sessions as rows: what the view `sessions` says of one, and the revisions of those judged."""

from __future__ import annotations

import pyarrow as pa

from tracejury_collector.store.columns import BIGINT, BOOLEAN, DOUBLE, INTEGER, TEXT, TEXTS, TIME

SESSION_COLUMNS: dict[str, pa.DataType] = {
    "session_id": TEXT,
    "project": TEXT,
    "start_time": TIME,
    "end_time": TIME,
    "traces": BIGINT,
    "span_count": BIGINT,
    "llm_calls": BIGINT,
    "tool_calls": BIGINT,
    "error_count": BIGINT,
    "traces_with_error": BIGINT,
    "input_tokens": BIGINT,
    "output_tokens": BIGINT,
    "total_tokens": BIGINT,
    "cost_usd": DOUBLE,
    "user_id": TEXT,
    "service_names": TEXTS,
    "runs": BIGINT,
    "duration_ms": DOUBLE,
    "user_ids": TEXTS,
    "agent_names": TEXTS,
    "models": TEXTS,
    "input": TEXT,
    "output": TEXT,
}
"""The columns of the view `sessions`, over which the conditions of session rules are."""

_MEMBER: dict[str, pa.DataType] = {
    "trace_id": TEXT,
    "revision": INTEGER,
    "first_seq": BIGINT,
    "last_seq": BIGINT,
}
REVISION_COLUMNS: dict[str, pa.DataType] = {
    "target_id": TEXT,
    "revision": INTEGER,
    "project": TEXT,
    "session_id": TEXT,
    "traces": BIGINT,
    "members": pa.list_(pa.struct(list(_MEMBER.items()))),
    "first_seq": BIGINT,
    "last_seq": BIGINT,
    "completed_at": TIME,
    "superseded": BOOLEAN,
}
"""The columns of `base.session_revisions`."""
