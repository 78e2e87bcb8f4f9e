"""The commands for authors, as the command line finds them by entry point."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from tracejury import terminal
from tracejury.errors import DefinitionError
from tracejury.result import outcome_to_json
from tracejury.terminal import visible
from tracejury_evaluators.authoring.generating import generate, next_steps
from tracejury_evaluators.authoring.listing import show_types
from tracejury_evaluators.authoring.outcomes import print_outcomes
from tracejury_evaluators.authoring.registered import print_registered
from tracejury_evaluators.authoring.registering import Registered, register_file
from tracejury_evaluators.authoring.setting import setup_of
from tracejury_evaluators.authoring.trial import (
    document,
    find_traces,
    is_bad,
    only,
    try_all,
    wanted_of,
)
from tracejury_evaluators.payload import PayloadCriteria, payload_bytes

CHECK_FAILED = 1


def evaluators(
    type_name: str | None, *, config: Path | None, plugins: Sequence[str], as_json: bool
) -> int:
    """Show the types of evaluators, or explain one; return the exit code.

    Raises: TracejuryError where a plugin or the configuration cannot be used.
    """
    show_types(type_name, config, plugins, as_json=as_json)
    return 0


def evaluate(
    *,
    traces: Sequence[str],
    evaluators: Sequence[str],
    configs: Sequence[str],
    criteria: Sequence[str],
    config_file: Path | None,
    plugins: Sequence[str],
    timeout_s: float | None,
    url: str | None,
    as_json: bool,
) -> int:
    """Judge the traces and show the outcomes; return 1 where one is a fail or a failure.

    Raises: TracejuryError where a trace, an evaluator or the configuration cannot be used.
    """
    wanted = wanted_of(evaluators, configs, criteria)
    setup = setup_of(config_file, plugins)
    tried = list(try_all(setup, wanted, find_traces(traces, url), timeout_s))
    if as_json:
        terminal.print_json(document(tried, [outcome_to_json(one.outcome) for one in tried]))
    else:
        print_outcomes(tried)
    return CHECK_FAILED if any(is_bad(one.outcome) for one in tried) else 0


def stdin_payload(*, traces: Sequence[str], criteria: Sequence[str], url: str | None) -> int:
    """Write what a script of an evaluator of type `process` reads for this trace.

    Raises: TracejuryError where there is not one trace, or criteria do not fit.
    """
    if len(criteria) > 1:
        raise DefinitionError("--criteria is given more than once; a payload has one")
    given = wanted_of(["process"], [], criteria)[0].criteria or {}
    known = {name: given[name] for name in PayloadCriteria.model_fields if name in given}
    if unknown := sorted(set(given) - set(known)):
        raise DefinitionError(
            f"--criteria: {unknown[0]!r} has no place in a payload; "
            f"it takes {', '.join(PayloadCriteria.model_fields)}"
        )
    case = PayloadCriteria.model_validate(known)
    sys.stdout.buffer.write(payload_bytes(only(find_traces(traces, url)), case) + b"\n")
    sys.stdout.flush()
    return 0


def add_evaluator(name: str, *, folder: Path, style: str, as_json: bool) -> int:
    """Write a new evaluator with its test; return the exit code.

    Raises: TracejuryError where the name cannot be, or a file is there already.
    """
    files = generate(name, folder, style)
    steps = next_steps(files, style)
    if as_json:
        terminal.print_json({"files": [str(path) for path in files], "next": steps})
        return 0
    out = terminal.console()
    for path in files:
        out.print(Text(f"wrote {visible(str(path))}"), soft_wrap=True)
    out.print(Text("next:", style="bold"))
    for step in steps:
        out.print(Text(f"  {visible(step)}"), soft_wrap=True)
    return 0


def register_evaluator(path: Path, *, as_json: bool) -> int:
    """Check the evaluators of a file and describe them in JSON; return the exit code.

    Raises: TracejuryError where the file cannot be used.
    """
    done = register_file(path)
    if as_json:
        terminal.print_json({"evaluators": [_registered_json(one) for one in done]})
    else:
        print_registered(path, done)
    return CHECK_FAILED if any(one.is_bad for one in done) else 0


def _registered_json(one: Registered) -> dict[str, object]:
    return {
        "type": one.examined.row.type,
        "fingerprint": one.examined.fingerprint,
        "findings": one.examined.findings,
        "written": [str(path) for path in one.written],
        "kept": str(one.kept) if one.kept else None,
    }
