"""AgentProbe's plugins: what they are, and the hooks they may have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any

from tracejury import Evaluator
from tracejury.errors import DefinitionError
from tracejury_evaluators.adapters.agentprobe.evaluator import BaseEvaluator
from tracejury_evaluators.adapters.agentprobe.models import PluginType
from tracejury_evaluators.adapters.agentprobe.native import adapted_factory


class PluginBase(ABC):
    """A plugin; override the hooks you need."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The plugin's own name."""

    @property
    @abstractmethod
    def plugin_type(self) -> PluginType:
        """What it provides."""

    @property
    def version(self) -> str:
        """The plugin's version."""
        return "0.1.0"

    def on_load(self) -> None:  # noqa: B027
        """Called once the plugin is registered."""

    def on_unload(self) -> None:  # noqa: B027
        """Called before the plugin is dropped."""

    def on_test_start(self, test_name: str, **kwargs: Any) -> None:  # noqa: B027
        """Called before a test case."""

    def on_test_end(self, test_name: str, **kwargs: Any) -> None:  # noqa: B027
        """Called after a test case."""

    def on_suite_start(self, **kwargs: Any) -> None:  # noqa: B027
        """Called before a suite."""

    def on_suite_end(self, **kwargs: Any) -> None:  # noqa: B027
        """Called after a suite."""


class EvaluatorPlugin(PluginBase):
    """A plugin that provides an evaluator; it can be named in a config by its class's name."""

    @property
    def plugin_type(self) -> PluginType:
        """An evaluator."""
        return PluginType.EVALUATOR

    @abstractmethod
    def create_evaluator(self) -> BaseEvaluator:
        """A new evaluator."""

    @classmethod
    def __tracejury_evaluator__(cls) -> type[Evaluator[Any]]:
        """The evaluator of ours, without config, that stands for what the plugin creates.

        Raises: DefinitionError where the plugin leaves something out.
        """
        return _evaluator_class(cls)


class AdapterPlugin(PluginBase):
    """A plugin that provides an adapter to an agent."""

    @property
    def plugin_type(self) -> PluginType:
        """An adapter."""
        return PluginType.ADAPTER

    @abstractmethod
    def create_adapter(self) -> Any:
        """A new adapter."""


class ReporterPlugin(PluginBase):
    """A plugin that provides a reporter."""

    @property
    def plugin_type(self) -> PluginType:
        """A reporter."""
        return PluginType.REPORTER

    @abstractmethod
    def create_reporter(self) -> Any:
        """A new reporter."""


class StoragePlugin(PluginBase):
    """A plugin that provides a storage."""

    @property
    def plugin_type(self) -> PluginType:
        """A storage."""
        return PluginType.STORAGE

    @abstractmethod
    def create_storage(self) -> Any:
        """A new storage."""


@cache
def _evaluator_class(plugin_type: type[EvaluatorPlugin]) -> type[Evaluator[Any]]:
    missing = sorted(getattr(plugin_type, "__abstractmethods__", ()))
    if missing:
        raise DefinitionError(
            f"{plugin_type.__module__}.{plugin_type.__qualname__} does not define "
            f"{', '.join(missing)}; a plugin has a name and `def create_evaluator(self)`"
        )
    plugin = plugin_type()

    def make() -> BaseEvaluator:
        created = plugin.create_evaluator()
        if not isinstance(created, BaseEvaluator):
            raise TypeError(
                f"create_evaluator returned {type(created).__name__}; return a BaseEvaluator"
            )
        return created

    identity = {"plugin": plugin.name, "plugin_version": plugin.version}
    return adapted_factory(plugin_type, make, identity)
