"""The page about other libraries is what the modes say."""

from __future__ import annotations

from tests.helpers.parity_docs import KINDS, PAGE, page
from tests.helpers.parity_modes import MODULES


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "write it anew: python -m tests.helpers.parity_docs"
    )


def test_every_kind_of_case_has_a_name() -> None:
    assert set(KINDS) >= set("".join(MODULES.values()))
