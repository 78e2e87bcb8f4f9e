"""Config and criteria of ours that take what a model of another system takes.

That model itself validates, so that its validators, aliases and defaults hold; ours adds what all
configs have: unknown fields are refused, and names may be snake_case or camelCase.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from tracejury.evaluator import Criteria
from tracejury.evaluator.names import WithAliases, own_names
from tracejury_evaluators.adapters.naming import make_model


def validated(model: type[BaseModel], given: Mapping[str, Any], *, partly: bool) -> Any:
    """The given fields as `model` takes them, by name; with its defaults unless `partly`.

    Raises: ValidationError that names fields by their own names; where the data may hold a part
    of the fields (`partly`), missing ones are no errors.
    """
    known = {name: value for name, value in given.items() if name in model.model_fields}
    unknown = {name: value for name, value in given.items() if name not in known}
    try:
        taken = model.model_validate(known, by_alias=True, by_name=True)
    except ValidationError as error:
        problems = _problems(model, error, partly=partly)
        if problems:
            raise ValidationError.from_exception_data(model.__name__, problems) from error
        return given
    names = taken.model_fields_set if partly else model.model_fields
    return {**unknown, **{name: getattr(taken, name) for name in names}}


def criteria_class(model: type[BaseModel]) -> type[Criteria]:
    """Criteria that take some or all of the model's fields."""

    body = {**told(model), "_taken": _validator(model, partly=True)}
    return make_model(Criteria, model.__name__, fields_of(model), body, aliases_of(model))


def config_validator(model: type[BaseModel]) -> object:
    """The validator of a config that holds every field of the model."""
    return _validator(model, partly=False)


def fields_of(model: type[BaseModel]) -> dict[str, tuple[Any, Any]]:
    """Fields of the model's names that hold what it made of their values."""
    return dict.fromkeys(model.model_fields, (Any, None))


def aliases_of(model: type[BaseModel]) -> dict[str, Any]:
    """The class variable with the names that the author gave fields beside their own."""
    names = {
        field.alias: name
        for name, field in model.model_fields.items()
        if field.alias and field.alias_priority == 2
    }
    return {"aliases": names}


def told(model: type[Any]) -> dict[str, Any]:
    """What a class made for another says of itself."""
    return {"__doc__": model.__doc__ or "", "__module__": model.__module__}


def _validator(model: type[BaseModel], *, partly: bool) -> object:
    def taken(cls: type[WithAliases], data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return validated(model, own_names(cls, data), partly=partly)

    bound: Any = classmethod(taken)
    return model_validator(mode="before")(bound)


def _problems(
    model: type[BaseModel], error: ValidationError, *, partly: bool
) -> list[InitErrorDetails]:
    names = {field.alias: name for name, field in model.model_fields.items() if field.alias}
    found: list[InitErrorDetails] = []
    for item in error.errors(include_url=False):
        first, *rest = item["loc"] or ("",)
        place = (names.get(str(first), first), *rest) if item["loc"] else ()
        if item["type"] == "missing" and partly and not rest:
            continue
        known: str | PydanticCustomError = "missing"
        if item["type"] != "missing":
            known = PydanticCustomError("invalid", "{said}", {"said": item["msg"]})
        found.append(InitErrorDetails(type=known, loc=place, input=item["input"]))
    return found
