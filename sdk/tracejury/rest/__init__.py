"""The documents of the REST API, as the client reads them and the service writes them.

Times are RFC 3339 text in UTC with nanoseconds. Fields that a newer service adds are kept.
"""

from __future__ import annotations

from tracejury.rest.audit import AuditEntry
from tracejury.rest.base import (
    Document,
    FieldFault,
    Page,
    Problem,
    SqlPosition,
)
from tracejury.rest.budgets import BudgetState
from tracejury.rest.definitions import Definition, DefinitionKind
from tracejury.rest.erasures import Erasure, ErasureReport
from tracejury.rest.judging import (
    Decision,
    EvaluatorType,
    Result,
)
from tracejury.rest.labels import (
    Label,
    LabelInput,
    LabelsInput,
    LabelsStored,
)
from tracejury.rest.maintenance import Compaction, Snapshot
from tracejury.rest.operation import (
    Column,
    DialectReport,
    DialectSeen,
    Health,
    Imported,
    SqlResult,
    UnreadAttribute,
)
from tracejury.rest.outward import (
    Alert,
    AlertDelivery,
    AlertDetail,
    ExportState,
)
from tracejury.rest.rates import (
    Agreement,
    Confusion,
    CorrectedRate,
    Excluded,
    Part,
    PassRate,
    PassRates,
)
from tracejury.rest.renormalizations import Renormalization, RenormalizationReport
from tracejury.rest.runs import (
    ChangedVerdict,
    Comparison,
    EvaluatorEstimate,
    Run,
    RunCounts,
    RunEstimate,
    RunEvaluator,
    RunState,
    ShareEstimate,
)
from tracejury.rest.storage import ProjectStorage, RejectedRecords, Storage
from tracejury.rest.traces import (
    Explanation,
    Flags,
    SessionDetail,
    SessionExplanation,
    SessionSummary,
    SessionTotals,
    ToolCall,
    TraceDetail,
    TraceStatus,
    TraceSummary,
    Turn,
    Usage,
)
from tracejury.rest.views import View, ViewColumn

__all__ = [
    "Agreement",
    "Alert",
    "AlertDelivery",
    "AlertDetail",
    "AuditEntry",
    "BudgetState",
    "ChangedVerdict",
    "Column",
    "Compaction",
    "Comparison",
    "Confusion",
    "CorrectedRate",
    "Decision",
    "Definition",
    "DefinitionKind",
    "DialectReport",
    "DialectSeen",
    "Document",
    "Erasure",
    "ErasureReport",
    "EvaluatorEstimate",
    "EvaluatorType",
    "Excluded",
    "Explanation",
    "ExportState",
    "FieldFault",
    "Flags",
    "Health",
    "Imported",
    "Label",
    "LabelInput",
    "LabelsInput",
    "LabelsStored",
    "Page",
    "Part",
    "PassRate",
    "PassRates",
    "Problem",
    "ProjectStorage",
    "RejectedRecords",
    "Renormalization",
    "RenormalizationReport",
    "Result",
    "Run",
    "RunCounts",
    "RunEstimate",
    "RunEvaluator",
    "RunState",
    "SessionDetail",
    "SessionExplanation",
    "SessionSummary",
    "SessionTotals",
    "ShareEstimate",
    "Snapshot",
    "SqlPosition",
    "SqlResult",
    "Storage",
    "ToolCall",
    "TraceDetail",
    "TraceStatus",
    "TraceSummary",
    "Turn",
    "UnreadAttribute",
    "Usage",
    "View",
    "ViewColumn",
]
