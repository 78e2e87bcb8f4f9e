"""A case's criteria over the defaults of a named evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from tracejury.errors import DefinitionError
from tracejury.evaluator.base import Criteria
from tracejury.evaluator.names import own_names
from tracejury.evaluator.validation import describe, field_names

Given = Mapping[str, Any] | Criteria | None

_SCALARS = (str, int, float, bool, bytes, type(None))


def criteria_of(criteria_type: type[Criteria], given: Given, defaults: Given = None) -> Criteria:
    """The criteria in force: those of the case, and the defaults for the fields it leaves out.

    Raises: ValidationError where they do not fit.
    """
    if not defaults:
        if isinstance(given, criteria_type):
            return given
        if given is None or given == {}:
            return _shared(criteria_type) or criteria_type.model_validate({})
    return criteria_type.model_validate(merged(criteria_type, given, defaults))


def merged(criteria_type: type[Criteria], given: Given, defaults: Given = None) -> Any:
    """The fields of both under their own names; what the case gives goes before the defaults."""
    case, base = _fields(given), _fields(defaults)
    if not base or not isinstance(case, Mapping) or not isinstance(base, Mapping):
        return case if isinstance(base, Mapping) else base
    return {**own_names(criteria_type, base), **own_names(criteria_type, case)}


def checked_defaults(criteria_type: type[Criteria], given: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults under their own names; required fields may be left to the cases.

    Raises: DefinitionError where what is given does not fit; it names the field.
    """
    try:
        checked = criteria_type.model_validate(given)
    except ValidationError as error:
        problems = describe(error, "criteria", field_names(criteria_type), partly=True)
        if problems:
            raise DefinitionError(problems) from error
        return dict(own_names(criteria_type, given))
    return checked.model_dump(by_alias=True, exclude_unset=True)


def _fields(given: Given) -> Any:
    if isinstance(given, BaseModel):
        return given.model_dump(by_alias=True, exclude_unset=True)
    return {} if given is None else given


@lru_cache(maxsize=1024)
def _shared(criteria_type: type[Criteria]) -> Criteria | None:
    """The empty criteria of a type, made once; None where an evaluator could change them."""
    fields = criteria_type.model_fields.values()
    if criteria_type.__private_attributes__ or any(field.is_required() for field in fields):
        return None
    if any(field.default_factory or not isinstance(field.default, _SCALARS) for field in fields):
        return None
    return criteria_type.model_validate({})
