"""What the demo prints."""

from __future__ import annotations

from rich.text import Text

from tracejury import terminal
from tracejury.rest import Result, ToolCall, TraceDetail
from tracejury.terminal import VERDICT_STYLES, Justify, latency, money, one_line, show

_LEFT: Justify = "left"


def show_trace(question: str, trace: TraceDetail) -> None:
    """Print what was rebuilt from the agent's spans, and the verdicts."""
    out = terminal.console()
    out.print(Text("\nrebuilt from its spans", style="bold"))
    _fact("agent", f"{trace.agent_name} ({trace.service_name}), {', '.join(trace.models)}")
    _fact("asked", trace.input_text or question)
    _fact("answered", trace.output_text)
    for number, call in enumerate(trace.tool_calls, 1):
        _fact(f"tool {number}", _tool_call(call))
    usage = trace.usage
    _fact("tokens", f"{show(usage.input_tokens)} in, {show(usage.output_tokens)} out")
    _fact("latency", latency(trace.latency_ms))
    _fact("cost", money(trace.cost_usd))
    out.print(Text("\nthe jury", style="bold"))
    columns = [("evaluator", _LEFT), ("verdict", _LEFT), ("reason", _LEFT)]
    results = sorted(trace.results, key=lambda result: result.evaluator)
    out.print(terminal.table("", columns, (_verdict(result) for result in results)))


def _fact(name: str, value: str) -> None:
    line = Text(f"  {name:<9}{one_line(value, 600)}")
    terminal.console().print(line, soft_wrap=True)


def _tool_call(call: ToolCall) -> str:
    outcome = f"error: {show(call.error)}" if call.error else show(call.output)
    return f"{call.name}({show(call.arguments)}) → {outcome}  [{latency(call.latency_ms)}]"


def _verdict(result: Result) -> list[str | Text]:
    verdict = result.verdict or result.outcome
    style = VERDICT_STYLES.get(verdict, "")
    return [result.evaluator, Text(verdict, style=style), one_line(result.reason, 200)]


def show_next(api_url: str, trace: TraceDetail, *, keep: bool) -> None:
    """Print the address of the API and what to try next."""
    out = terminal.console()
    lines = [
        f"\nthe API is at {api_url}, its description at {api_url}/docs; try:",
        f"  tracejury traces --url {api_url}",
        f"  tracejury explain {trace.trace_id} --url {api_url}",
        f"  tracejury sql 'SELECT name, arguments, output FROM tool_calls' --url {api_url}",
        "Ctrl-C ends the service and removes its database.",
    ]
    if not keep:
        lines = [
            f"\nthe API was at {api_url}; the service has done its work and is ended.",
            "'tracejury demo --keep' leaves it running; 'tracejury serve' starts your own.",
        ]
    for line in lines:
        out.print(Text(line), soft_wrap=True)
