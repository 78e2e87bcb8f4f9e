"""`tracejury demo`: a real agent, a fresh service, and what the jury says."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator

from rich.console import Console

from tracejury import terminal
from tracejury.client import Client
from tracejury.errors import TracejuryError, UnreachableError
from tracejury.rest import TraceDetail
from tracejury_collector.demo.agent import QUESTION, run_agent
from tracejury_collector.demo.llm import serve_llm
from tracejury_collector.demo.service import DemoService, run_service
from tracejury_collector.demo.show import show_next, show_trace

JUDGED_TIMEOUT_S = 60.0
_UNREACHABLE = 3


def run_demo(*, keep: bool, as_json: bool) -> int:
    """Run the demo; return the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _service_shown() as (service, progress):
            trace = _run(service, progress)
            if as_json:
                terminal.print_json({"api": service.api_url, "trace": trace.model_dump()})
            else:
                show_trace(QUESTION, trace)
                show_next(service.api_url, trace, keep=keep)
            if keep:
                _wait(service)
    except KeyboardInterrupt:
        return 0
    except TracejuryError as error:
        for line in str(error).splitlines():
            terminal.print_problem(line)
        return _UNREACHABLE
    return 0


@contextlib.contextmanager
def _service_shown() -> Iterator[tuple[DemoService, Console]]:
    """Run the service, saying so on stderr."""
    progress = terminal.console(stderr=True)
    with contextlib.ExitStack() as stack:
        with progress.status("starting a service on free ports, with a temporary database …"):
            service = stack.enter_context(run_service())
        yield service, progress


def _run(service: DemoService, progress: Console) -> TraceDetail:
    working = "an agent works: it asks a small model on loopback, and uses tools …"
    with serve_llm() as llm_url, progress.status(working):
        run_agent(service.otlp_url, llm_url)
    judging = "the trace is finished, rebuilt and judged …"
    with Client(service.api_url) as client, progress.status(judging):
        return _await_judged(client)


def _await_judged(client: Client) -> TraceDetail:
    """Return the agent's trace once every evaluator has answered.

    Raises: UnreachableError if that takes too long.
    """
    deadline_s = time.monotonic() + JUDGED_TIMEOUT_S
    while time.monotonic() < deadline_s:
        for item in client.traces(limit=10).items:
            trace = client.trace(item.trace_id)
            if trace.status == "complete" and is_judged(trace):
                return trace
        time.sleep(0.1)
    raise UnreachableError(
        f"the trace was not judged within {JUDGED_TIMEOUT_S:.0f} s; "
        "run 'tracejury demo --keep' and ask 'tracejury explain'"
    )


def is_judged(trace: TraceDetail) -> bool:
    """Say whether every evaluator that was selected for the current revision has answered."""
    current = [d for d in trace.decisions if d.revision == trace.revision]
    wanted = {name for d in current if d.outcome == "selected" for name in d.evaluators}
    answered = {r.evaluator for r in trace.results if r.revision == trace.revision}
    return bool(current) and wanted <= answered


def _wait(service: DemoService) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        service.process.wait()
