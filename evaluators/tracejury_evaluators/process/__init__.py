"""Evaluators outside this process: programs in any language, and HTTP endpoints."""

from __future__ import annotations

from typing import Any

from tracejury.evaluator import Evaluator
from tracejury_evaluators.process.script import Process
from tracejury_evaluators.process.webhook import Webhook

EVALUATORS: tuple[type[Evaluator[Any]], ...] = (Process, Webhook)
