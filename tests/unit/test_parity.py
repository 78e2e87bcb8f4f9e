"""Our evaluators against what other libraries answer on the same cases."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.helpers.parity import Mode, recorded_modes
from tests.helpers.parity_modes import KINDS, all_modes, answered
from tracejury_evaluators.registry import built_in_registry

MODES = all_modes()
OFFERED = [mode for mode in MODES if mode.ours]
TYPES = {row.type for row in built_in_registry().types()}


def name_of(mode: Mode) -> str:
    return f"{mode.library} {mode.mode} on {mode.kind}"


def test_every_recorded_mode_has_one_row_and_every_row_a_recorded_mode() -> None:
    rows = Counter((mode.library, mode.mode, mode.kind) for mode in MODES)
    recorded = recorded_modes()
    assert {key for key in recorded - set(rows) if key[2] in KINDS} == set()
    assert set(rows) - recorded == set()
    assert [key for key, count in rows.items() if count > 1] == []


@pytest.mark.parametrize("mode", OFFERED, ids=name_of)
def test_the_answers_are_equal_or_differ_for_the_stated_reason(mode: Mode) -> None:
    wrong = [case for case in answered(mode) if not case.as_stated]
    assert wrong == []


@pytest.mark.parametrize("mode", OFFERED, ids=name_of)
def test_an_offered_mode_is_equal_on_most_cases(mode: Mode) -> None:
    reasons = [case.reason for case in answered(mode)]
    assert sum(map(bool, reasons)) < len(reasons) / 2


@pytest.mark.parametrize("mode", OFFERED, ids=name_of)
def test_an_offered_mode_names_an_evaluator_of_ours(mode: Mode) -> None:
    assert mode.judge is not None
    assert set(re.findall(r"^[a-z0-9-]+", mode.ours)) <= TYPES


@pytest.mark.parametrize("mode", [mode for mode in MODES if not mode.ours], ids=name_of)
def test_a_mode_that_is_not_offered_says_why(mode: Mode) -> None:
    assert mode.judge is None
    assert mode.note
