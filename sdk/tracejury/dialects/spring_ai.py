"""Spring AI."""

from __future__ import annotations

from tracejury.dialects.rules import Dialect

DIALECT = Dialect(
    name="spring_ai",
    label="Spring AI",
    scopes=("org.springframework.ai",),
    prefixes=("spring.ai.",),
)
