"""Rules and evaluators while the service runs: the configuration's, and those of the API."""

from __future__ import annotations

from tracejury_collector.definitions.book import ANY, Definitions, Expected
from tracejury_collector.definitions.present import Definition

__all__ = ["ANY", "Definition", "Definitions", "Expected"]
