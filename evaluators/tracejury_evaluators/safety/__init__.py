"""Evaluators of what must not be in a run: personal data, secrets, injected instructions, terms."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.safety.injection import InjectionMarkers
from tracejury_evaluators.safety.pii import NoPii
from tracejury_evaluators.safety.secrets import NoSecrets
from tracejury_evaluators.safety.terms import BannedTerms

__all__ = ["EVALUATORS", "BannedTerms", "InjectionMarkers", "NoPii", "NoSecrets"]

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (
    NoPii,
    NoSecrets,
    InjectionMarkers,
    BannedTerms,
)
