"""The process that imports authors' code: it reads one order, answers in lines of JSON, and ends.

What evaluators print goes to standard error, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tracejury.codec import load_trace
from tracejury.errors import DefinitionError, TracejuryError
from tracejury.evaluator import Evaluator, run_evaluator
from tracejury.result import outcome_to_json
from tracejury_evaluators.adapters.uipath.folder import is_custom, write_registration
from tracejury_evaluators.authoring.examining import examine_file
from tracejury_evaluators.authoring.orders import (
    Answer,
    Examine,
    Judgement,
    ListTypes,
    Named,
    Order,
    Ready,
    Setup,
    Try,
    Wanted,
)
from tracejury_evaluators.authoring.rows import type_rows
from tracejury_evaluators.composite.named import with_members
from tracejury_evaluators.endpoint import JudgeEndpoint, use_endpoint
from tracejury_evaluators.plugins import PluginRegistry, full_registry

Send = Callable[[Answer], None]


def main() -> None:
    """Carry out the order on standard input."""
    channel = os.dup(1)
    os.dup2(2, 1)
    order: Order = TypeAdapter[Order](Order).validate_json(sys.stdin.buffer.read())

    def send(answer: Answer) -> None:
        data = answer.model_dump_json(exclude_defaults=True).encode() + b"\n"
        while data:
            data = data[os.write(channel, data) :]

    try:
        for answer in _carried_out(order):
            send(answer)
    except TracejuryError as error:
        send(Answer(problem=str(error)))
    sys.stdout.flush()
    os._exit(0)  # threads that authors left behind do not hold it up


def _carried_out(order: Order) -> Iterator[Answer]:
    if isinstance(order, Examine):
        yield _examined(Path(order.file))
    elif isinstance(order, ListTypes):
        yield Answer(types=type_rows(_registry(order.setup)))
    else:
        yield from _tried(order)


def _examined(path: Path) -> Answer:
    examined = examine_file(path)
    if not is_custom(path):
        return Answer(examined=examined)
    return Answer(examined=examined, written=[str(file) for file in write_registration(path)])


def _registry(setup: Setup) -> PluginRegistry:
    judge = setup.judge
    if judge is not None:
        use_endpoint(
            JudgeEndpoint(model=judge.model, base_url=judge.base_url, api_key=judge.api_key)
        )
    return full_registry(Path(setup.folder), setup.plugins)


def _tried(order: Try) -> Iterator[Answer]:
    registry = _registry(order.setup)
    built = [_built(registry, order.setup, wanted) for wanted in order.wanted]
    yield Answer(
        ready=[
            Ready(
                label=wanted.label,
                type=named.type,
                fingerprint=evaluator.fingerprint(),
                timeout_s=named.timeout_s or evaluator.timeout_s,
            )
            for wanted, (named, evaluator) in zip(order.wanted, built, strict=True)
        ]
    )
    for pair in range(order.first, len(order.traces) * len(built)):
        trace_number, number = divmod(pair, len(built))
        if number in order.skipped:
            continue
        named, evaluator = built[number]
        trace = load_trace(order.traces[trace_number].encode())
        started_s = time.perf_counter()
        outcome = run_evaluator(
            evaluator, trace, order.wanted[number].criteria, defaults=named.criteria
        )
        duration_ms = (time.perf_counter() - started_s) * 1e3
        judgement = Judgement(pair=pair, outcome=outcome_to_json(outcome), duration_ms=duration_ms)
        yield Answer(judgement=judgement)
    yield Answer(done=True)


def _built(registry: PluginRegistry, setup: Setup, wanted: Wanted) -> tuple[Named, Evaluator[Any]]:
    """The evaluator, and what its name stands for: a name of the configuration goes first."""
    named = setup.named.get(wanted.evaluator) or Named(type=_type_name(wanted.evaluator))
    config = {**named.config, **(wanted.config or {})}
    specs = {name: one.model_dump() for name, one in setup.named.items()}
    specs[wanted.evaluator] = {"type": named.type, "config": config}
    try:
        return named, registry.build(named.type, with_members(wanted.evaluator, specs))
    except DefinitionError as error:
        if setup.named and wanted.evaluator not in setup.named and not registry.knows(named.type):
            names = ", ".join(setup.named)
            raise DefinitionError(f"{error}; the configuration names {names}") from error
        raise


def _type_name(evaluator: str) -> str:
    """The type that a name on the command line stands for: `checks.py:MyCheck` names a file."""
    path = evaluator.partition(".py")
    is_file = path[1] == ".py" and path[2][:1] in ("", ":")
    return f"file://{evaluator}" if is_file and "://" not in evaluator else evaluator


if __name__ == "__main__":
    main()
