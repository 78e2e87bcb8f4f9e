"""Hand-made spans for every rule of every dialect."""

from __future__ import annotations

import pytest

from tests.helpers.dialect_cases import (
    FOLDER,
    DialectCase,
    dialect_cases,
    mismatches,
    rules_hit,
    span_facts,
    trace_facts,
)
from tracejury.dialects import BUILT_IN
from tracejury.dialects.rules import Dialect

NAMES = {dialect.name for dialect in BUILT_IN}
WITH_CASES = {path.stem for path in FOLDER.glob("*.yaml")}


@pytest.mark.parametrize("case", dialect_cases(), ids=str)
def test_what_a_hand_made_case_holds_is_found(case: DialectCase) -> None:
    found = trace_facts(case) if case.is_trace else span_facts(case.spans[0], list(case.expect))
    assert mismatches(case.expect, found) == []


@pytest.mark.parametrize(
    "dialect", [d for d in BUILT_IN if d.name in WITH_CASES], ids=lambda d: d.name
)
def test_every_rule_of_a_dialect_has_a_case(dialect: Dialect) -> None:
    hit = {r for case in dialect_cases() if case.dialect == dialect.name for r in rules_hit(case)}
    assert [rule for rule in dialect.rules if rule not in hit] == []


def test_every_case_file_belongs_to_a_dialect() -> None:
    assert {"matrix"} >= WITH_CASES - NAMES
