"""Labels: what people and programs say about a trace, a span of it, or a session."""

from tracejury.labels.meaning import (
    MAX_COMMENT_CHARS,
    MAX_ID_CHARS,
    MAX_NAME_CHARS,
    Label,
    LabelSource,
    Meaning,
    meaning,
)
from tracejury.labels.telemetry import (
    AUTHOR,
    EVENT_NAME,
    EXPLANATION,
    LABEL_ID,
    NAME,
    SCORE_LABEL,
    SCORE_VALUE,
    Said,
    is_label_log,
    is_label_span,
    log_labels,
    may_carry_labels,
    span_labels,
)

__all__ = [
    "AUTHOR",
    "EVENT_NAME",
    "EXPLANATION",
    "LABEL_ID",
    "MAX_COMMENT_CHARS",
    "MAX_ID_CHARS",
    "MAX_NAME_CHARS",
    "NAME",
    "SCORE_LABEL",
    "SCORE_VALUE",
    "Label",
    "LabelSource",
    "Meaning",
    "Said",
    "is_label_log",
    "is_label_span",
    "log_labels",
    "may_carry_labels",
    "meaning",
    "span_labels",
]
