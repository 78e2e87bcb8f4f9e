"""The description of the API is complete, and its examples are what is really answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.helpers.api import Api
from tests.helpers.api_examples import CALLS, FILE

JSON, PROBLEM, DOCUMENT = "application/json", "application/problem+json", "urn:openapi"
METHODS_WITH_BODY = {"post", "put"}


@pytest.fixture(scope="module")
def document(shared: Api) -> dict[str, Any]:
    found: dict[str, Any] = shared.get("/openapi.json")
    return found


@pytest.fixture(scope="module")
def registry(document: dict[str, Any]) -> Registry[Any]:
    resource = DRAFT202012.create_resource(document)
    empty: Registry[Any] = Registry()
    found: Registry[Any] = empty.with_resource(DOCUMENT, resource)
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def faults(registry: Registry[Any], schema: dict[str, Any], example: Any) -> list[str]:
    """Return what is wrong with an example of a schema of the document."""
    absolute = _absolute(schema)
    found = Draft202012Validator(absolute, registry=registry).iter_errors(example)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


def _absolute(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: DOCUMENT + item if key == "$ref" else _absolute(item)
            for key, item in value.items()
        }
    return [_absolute(item) for item in value] if isinstance(value, list) else value


def test_every_operation_says_what_it_does_and_has_a_name_of_its_own(
    document: dict[str, Any],
) -> None:
    names = []
    for method, path, operation in operations(document):
        names.append(operation["operationId"])
        assert operation["summary"], (method, path)
        assert operation["description"], (method, path)
        assert len(operation["tags"]) == 1, (method, path)
    assert len(names) > 40
    assert len(set(names)) == len(names)
    known = {tag["name"] for tag in document["tags"]}
    assert {tag for _, _, each in operations(document) for tag in each["tags"]} == known


def test_every_parameter_is_described(document: dict[str, Any]) -> None:
    unsaid = [
        (method, path, parameter["name"])
        for method, path, operation in operations(document)
        for parameter in operation.get("parameters", ())
        if not parameter.get("description")
    ]
    assert unsaid == []


def test_every_field_of_every_document_is_described(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    unsaid = [name for name, schema in schemas.items() if not schema.get("description")]
    unsaid += [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, about in schema.get("properties", {}).items()
        if not about.get("description")
    ]
    assert unsaid == []


def test_every_refusal_is_a_problem_with_an_example(
    document: dict[str, Any], registry: Registry[Any]
) -> None:
    for method, path, operation in operations(document):
        refusals = {status for status in operation["responses"] if status >= "400"}
        assert {"403", "503"} <= refusals, (method, path)
        assert "{" not in path or "422" in refusals, (method, path)
        assert (
            method not in METHODS_WITH_BODY or "requestBody" not in operation or "413" in refusals
        )
        for status in refusals:
            response = operation["responses"][status]
            assert response["description"]
            content = response["content"][PROBLEM]
            assert list(response["content"]) == [PROBLEM]
            assert faults(registry, content["schema"], content["example"]) == []
            assert content["example"]["status"] == int(status), (method, path)


def test_every_answer_and_request_in_json_has_an_example_that_fits(
    document: dict[str, Any], registry: Registry[Any]
) -> None:
    seen = 0
    for method, path, operation in operations(document):
        contents = [operation.get("requestBody", {}).get("content", {})]
        contents += [
            answer.get("content", {})
            for status, answer in operation["responses"].items()
            if status < "300"
        ]
        for content in contents:
            schema = content.get(JSON, {}).get("schema", {})
            if "$ref" not in schema:
                continue
            assert "example" in content[JSON], f"{FILE.name} has none of {method} {path}"
            assert faults(registry, schema, content[JSON]["example"]) == [], (method, path)
            seen += 1
    assert seen > 40


def test_every_operation_with_another_answer_shows_one(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        for status, answer in operation["responses"].items():
            for media_type, content in answer.get("content", {}).items():
                assert "schema" in content, (method, path, status)
                if media_type.startswith("text/event-stream"):
                    assert "example" in content, (method, path, media_type)


def test_the_examples_are_what_the_service_answers_now(shared: Api) -> None:
    """Fields that were added, or are gone, show here: write the examples anew."""
    known = {"list_traces": "items", "list_sessions": "items", "list_rules": "items"}
    document = shared.get("/openapi.json")
    for name, path in [(call[0], call[2]) for call in CALLS if call[0] in known]:
        operation = next(each for _, _, each in operations(document) if each["operationId"] == name)
        example = operation["responses"]["200"]["content"][JSON]["example"]
        answer = shared.get(path)
        assert set(example["items"][0]) == set(answer["items"][0]), name
    detail = next(each for _, _, each in operations(document) if each["operationId"] == "get_trace")
    example = detail["responses"]["200"]["content"][JSON]["example"]
    assert set(example) == set(shared.get(f"/api/traces/{1:032x}"))
