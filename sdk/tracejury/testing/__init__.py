"""For tests of evaluators: builders of traces with sensible defaults, and a check of the protocol.

trace = make_trace(input="Weather in Paris?", output="18 degrees",
                   tool_calls=[make_tool_call("get_weather", {"city": "Paris"})])
check_evaluator(MyCheck())
"""

from tracejury.testing.build import (
    ANSWER,
    MS,
    QUESTION,
    START_NS,
    make_document,
    make_llm_call,
    make_message,
    make_span,
    make_tool_call,
    make_trace,
    make_turn,
    make_usage,
)
from tracejury.testing.check import check_evaluator, examine_evaluator
from tracejury.testing.report import Judged, Report
from tracejury.testing.telling import telling_traces

__all__ = [
    "ANSWER",
    "MS",
    "QUESTION",
    "START_NS",
    "Judged",
    "Report",
    "check_evaluator",
    "examine_evaluator",
    "make_document",
    "make_llm_call",
    "make_message",
    "make_span",
    "make_tool_call",
    "make_trace",
    "make_turn",
    "make_usage",
    "telling_traces",
]
