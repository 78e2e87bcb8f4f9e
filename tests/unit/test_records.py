"""Records are quick to make and still frozen dataclasses."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from tracejury.trace import Document, Message, Part, SpanRecord


def test_a_record_cannot_be_changed() -> None:
    part = Part(type="text", text="hi")
    with pytest.raises(FrozenInstanceError):
        part.text = "no"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del part.text


def test_what_is_not_given_has_its_default_and_containers_are_not_shared() -> None:
    one, other = Document(content="a"), Document(content="b")
    assert (one.id, one.score, one.metadata) == ("", None, {})
    assert one.metadata is not other.metadata


def test_a_value_that_is_missing_or_unknown_or_has_no_name_is_refused() -> None:
    with pytest.raises(TypeError, match="trace_id"):
        SpanRecord(span_id="1")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unknown"):
        Part(type="text", unknown=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Part("text")  # type: ignore[call-arg]


def test_records_are_compared_copied_replaced_and_pickled() -> None:
    message = Message(role="user", parts=(Part(type="text", text="hi"),))
    for other in (
        copy.copy(message),
        copy.deepcopy(message),
        replace(message),
        pickle.loads(pickle.dumps(message)),  # noqa: S301
    ):
        assert other == message
        assert hash(other) == hash(message)
    assert replace(message, name="a") != message


def test_the_signature_is_that_of_the_fields() -> None:
    assert list(inspect.signature(Message).parameters) == ["role", "parts", "name", "finish_reason"]
