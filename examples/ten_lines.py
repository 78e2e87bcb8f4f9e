"""An evaluator of one's own in ten lines, tried on a trace made by hand."""

from tracejury import Score, Skip, Trace, evaluator
from tracejury.evaluator import run_evaluator
from tracejury.testing import make_tool_call, make_trace


@evaluator("cites-sources")
def cites_sources(trace: Trace, *, tool: str = "search", least: int = 1) -> Score | Skip:
    """Passes if the answer names enough of the links that the search found."""
    links = [str(call.output) for call in trace.tool_calls if call.name == tool and call.output]
    if not links:
        return Skip(f"the agent found nothing with {tool!r}")
    cited = [link for link in links if link in trace.output_text]
    reason = f"{len(cited)} of {len(links)} links cited"
    return Score(min(1.0, len(cited) / least), reason=reason, hits=cited)


if __name__ == "__main__":
    found = make_tool_call("search", {"q": "refunds"}, "https://example.com/refunds")
    trace = make_trace(output="See https://example.com/refunds.", tool_calls=[found])
    print(run_evaluator(cites_sources(), trace))  # noqa: T201 - an example shows what it did
