"""For tests of evaluators: builders of traces with sensible defaults, and a check of the protocol.

trace = make_trace(input="Weather in Paris?", output="18 degrees",
                   tool_calls=[make_tool_call("get_weather", {"city": "Paris"})])
"""

from tracejury.testing.build import (
    ANSWER,
    MS,
    QUESTION,
    START_NS,
    make_llm_call,
    make_message,
    make_tool_call,
    make_trace,
    make_usage,
)

__all__ = [
    "ANSWER",
    "MS",
    "QUESTION",
    "START_NS",
    "make_llm_call",
    "make_message",
    "make_tool_call",
    "make_trace",
    "make_usage",
]
