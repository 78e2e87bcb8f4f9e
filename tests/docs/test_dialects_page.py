"""The page about dialects is made from the tables, and every table says what a reader asks."""

from __future__ import annotations

import re

import pytest

from tests.helpers.dialect_docs import PAGE, anchor, label_of, with_generated
from tests.helpers.dialect_evidence import gather_evidence
from tracejury.dialects import BUILT_IN
from tracejury.dialects.rules import Dialect

TEXT = PAGE.read_text("utf-8")


def test_the_page_is_that_of_the_tables() -> None:
    assert with_generated(TEXT, BUILT_IN, gather_evidence()) == TEXT, "run: make docs-dialects"


@pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda d: d.name)
def test_a_table_has_a_name_a_source_and_says_what_is_missing_and_how_to_record_more(
    dialect: Dialect,
) -> None:
    assert dialect.label
    assert dialect.source
    assert dialect.missing
    assert dialect.enable.strip()


def test_every_table_has_a_heading_of_its_own() -> None:
    headings = re.findall(r"^### (.+)$", TEXT, re.MULTILINE)
    assert headings == [label_of(dialect) for dialect in BUILT_IN]
    assert len(set(map(anchor, headings))) == len(headings)
