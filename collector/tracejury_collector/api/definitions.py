"""Rules and evaluators: shown, and changed while the service runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from tracejury.rest import Definition, DefinitionKind, Page
from tracejury.view import rfc3339
from tracejury_collector.api.context import ApiContext
from tracejury_collector.api.dependencies import Context, problems
from tracejury_collector.api.paths import anything
from tracejury_collector.config import EvaluatorSpec, RuleSpec
from tracejury_collector.definitions import ANY, Definitions, Expected
from tracejury_collector.definitions import Definition as Defined
from tracejury_collector.errors import MalformedRequest

router = APIRouter(tags=["definitions"])

T = TypeVar("T")
CHANGES_WAITING = 2
"""Changes that hold a thread while they are made, or wait for the one before."""

RULE = f"/api/rules/{anything('name')}"
EVALUATOR = f"/api/evaluators/{anything('name')}"
SHOWN = problems(404, 422)
CHANGED = problems(400, 409, 412, 413, 422) | {
    200: {"description": "it was changed, or is as it was"},
    201: {"description": "it was added", "model": Definition},
}
REMOVED = problems(400, 404, 409, 412)


class NoQuery(BaseModel):
    """No parameters; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")


def _expected(
    if_match: Annotated[
        str | None, Header(max_length=1000, description="change only this version: its ETag")
    ] = None,
    if_none_match: Annotated[
        str | None, Header(max_length=1000, description="`*`: only add, change nothing")
    ] = None,
) -> Expected:
    """Return the versions that may be changed."""
    if if_none_match is not None and (if_match is not None or if_none_match.strip() != ANY):
        raise MalformedRequest(
            f"If-None-Match: {if_none_match!r} cannot be used; send `*`, and no If-Match beside it"
        )
    if if_none_match is not None:
        return ()
    if if_match is None:
        return None
    return [tag.strip().removeprefix('"').removesuffix('"') for tag in if_match.split(",")]


Name = Annotated[str, Path(description="its name")]
Versions = Annotated[Expected, Depends(_expected)]


@router.get("/api/rules", responses=problems(422))
def list_rules(context: Context, _query: Annotated[NoQuery, Query()]) -> Page[Definition]:
    """List all rules by name: those of the configuration, and those of the API."""
    return _page(context, "rule")


@router.get(RULE, responses=SHOWN)
def get_rule(context: Context, name: Name, response: Response) -> Definition:
    """Return a rule as it is in force."""
    return _shown(context, context.definitions.get("rule", name), response)


@router.put(RULE, responses=CHANGED)
async def put_rule(
    context: Context,
    request: Request,
    name: Name,
    spec: RuleSpec,
    expected: Versions,
    response: Response,
) -> Definition:
    """Add or change a rule; it decides on revisions that are finished from then on."""
    return await _put(context, request, name, spec, expected, response)


@router.delete(RULE, responses=REMOVED, status_code=204)
async def delete_rule(context: Context, request: Request, name: Name, expected: Versions) -> None:
    """Remove a rule of the API; what it has selected is still judged."""
    await _in_turn(request, lambda: context.definitions.delete("rule", name, expected))


@router.get("/api/evaluators", responses=problems(422))
def list_evaluators(context: Context, _query: Annotated[NoQuery, Query()]) -> Page[Definition]:
    """List all named evaluators: those of the configuration, by default, and of the API."""
    return _page(context, "evaluator")


@router.get(EVALUATOR, responses=SHOWN)
def get_evaluator(context: Context, name: Name, response: Response) -> Definition:
    """Return a named evaluator as it is in force."""
    return _shown(context, context.definitions.get("evaluator", name), response)


@router.put(EVALUATOR, responses=CHANGED)
async def put_evaluator(
    context: Context,
    request: Request,
    name: Name,
    spec: EvaluatorSpec,
    expected: Versions,
    response: Response,
) -> Definition:
    """Add or change a named evaluator; what was selected before is judged as it was."""
    return await _put(context, request, name, spec, expected, response)


@router.delete(EVALUATOR, responses=REMOVED, status_code=204)
async def delete_evaluator(
    context: Context, request: Request, name: Name, expected: Versions
) -> None:
    """Remove a named evaluator of the API that no rule uses."""
    await _in_turn(request, lambda: context.definitions.delete("evaluator", name, expected))


async def _put(
    context: ApiContext,
    request: Request,
    name: str,
    spec: RuleSpec | EvaluatorSpec,
    expected: Expected,
    response: Response,
) -> Definition:
    change = lambda: context.definitions.put(name, spec, expected)  # noqa: E731
    found, is_new = await _in_turn(request, change)
    response.status_code = 201 if is_new else 200
    return _shown(context, found, response)


async def _in_turn(request: Request, change: Callable[[], T]) -> T:
    """Run a change in a thread; those that wait for others hold none."""
    return await to_thread.run_sync(change, limiter=request.app.state.definitions_lane)


def _shown(context: ApiContext, found: Defined, response: Response) -> Definition:
    response.headers["etag"] = f'"{found.version}"'
    return _document(context.definitions, found)


def _page(context: ApiContext, kind: DefinitionKind) -> Page[Definition]:
    definitions = context.definitions
    return Page(items=[_document(definitions, found) for found in definitions.of_kind(kind)])


def _document(definitions: Definitions, found: Defined) -> Definition:
    return Definition(
        kind=found.kind,
        name=found.name,
        source=found.source,
        editable=definitions.is_editable(found),
        body=dict(found.body),
        version=found.version,
        fingerprint=found.fingerprint,
        criteria_hash=found.seat.criteria_hash if found.seat else "",
        effective_from=rfc3339(definitions.since_ns(found)) or "",
        fault=found.fault,
    )
