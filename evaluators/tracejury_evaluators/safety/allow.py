"""Values that are allowed although they look forbidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import re2

from tracejury_evaluators.patterns import compiled, encoded

MAX_ALLOWED = 1_000


def allowed(texts: Sequence[str]) -> Callable[[str], bool]:
    """What says whether a value is one of these texts, case aside; `*` stands for anything."""
    if not texts:
        return lambda _value: False
    patterns = ["(?:" + ".*".join(map(re2.escape, text.split("*"))) + ")" for text in texts]
    expression = compiled("|".join(patterns), "is")
    return lambda value: expression.fullmatch(encoded(value)) is not None
