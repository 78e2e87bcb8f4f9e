"""Whatever stands in a dialect's file: it is a table, or it is refused in words."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tracejury.dialects.active import tables_with
from tracejury.dialects.custom import parse_dialect
from tracejury.dialects.custom_parts import DialectPart
from tracejury.dialects.files import read_dialect
from tracejury.errors import DefinitionError

_SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("llm")
_DATA = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
_KEYS = st.sampled_from(sorted(DialectPart.model_fields)) | st.text(max_size=8)
_DIALECTS = st.dictionaries(_KEYS, _DATA, max_size=6) | _DATA


@given(data=_DIALECTS)
@example(data={"[key]": None})
@settings(max_examples=300, deadline=None)
def test_any_data_is_a_table_or_is_refused(data: Any) -> None:
    complaint = ""
    try:
        tables_with([parse_dialect(data, "x.yaml").dialect])
    except DefinitionError as error:
        complaint = str(error)
    assert not complaint or complaint.startswith("x.yaml")


@given(
    content=st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_table_or_are_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.yaml"
        path.write_bytes(content)
        complaint = ""
        try:
            read_dialect(path)
        except DefinitionError as error:
            complaint = str(error)
        assert not complaint or complaint.startswith(str(path))
