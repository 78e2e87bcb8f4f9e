"""AgentProbe's plugin manager: finds plugins, keeps them, calls their hooks."""

from __future__ import annotations

import importlib.util
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from tracejury.errors import DefinitionError
from tracejury_evaluators.adapters.agentprobe.evaluator import BaseEvaluator
from tracejury_evaluators.adapters.agentprobe.models import PluginType
from tracejury_evaluators.adapters.agentprobe.plugins import (
    AdapterPlugin,
    EvaluatorPlugin,
    PluginBase,
    ReporterPlugin,
    StoragePlugin,
)

ENTRY_POINT_GROUP = "agentprobe.plugins"
log = logging.getLogger("tracejury")


class PluginManager:
    """Plugins by name, in the order in which they were loaded.

    What is found (entry points, files) and cannot be used is logged and left out, as is a hook
    that raises: one broken plugin stops no other. What is given by hand must be right.
    """

    def __init__(self, entry_point_group: str = ENTRY_POINT_GROUP) -> None:
        self._group = entry_point_group
        self._plugins: dict[str, PluginBase] = {}

    def load_plugins(
        self,
        directories: Iterable[str | Path] | None = None,
        classes: Iterable[type[PluginBase]] | None = None,
    ) -> list[PluginBase]:
        """Load the plugins of installed packages, of the files in `directories`, and `classes`.

        Loading again changes nothing for plugins that are loaded already.
        Raises: DefinitionError where a class is no plugin, or its name is another's.
        """
        loaded: list[PluginBase] = []
        for origin, load in [*self._installed(), *_files(directories or ())]:
            try:
                loaded += [self._add(found, origin) for found in load()]
            except Exception:
                log.exception("plugin of %s is left out", origin)
        return loaded + [self._add(given, f"class {given!r}") for given in classes or ()]

    def get(self, name: str) -> PluginBase | None:
        """The plugin of this name."""
        return self._plugins.get(name)

    def list_plugins(self) -> list[PluginBase]:
        """All plugins."""
        return list(self._plugins.values())

    def list_by_type(self, plugin_type: PluginType) -> list[PluginBase]:
        """The plugins that provide one kind of thing."""
        return [plugin for plugin in self._plugins.values() if plugin.plugin_type == plugin_type]

    def unload_all(self) -> None:
        """Drop all plugins."""
        self._each("on_unload")
        self._plugins.clear()

    def dispatch_test_start(self, test_name: str, **kwargs: Any) -> None:
        """Tell the plugins that a test case begins."""
        self._each("on_test_start", test_name, **kwargs)

    def dispatch_test_end(self, test_name: str, **kwargs: Any) -> None:
        """Tell the plugins that a test case is over."""
        self._each("on_test_end", test_name, **kwargs)

    def dispatch_suite_start(self, **kwargs: Any) -> None:
        """Tell the plugins that a suite begins."""
        self._each("on_suite_start", **kwargs)

    def dispatch_suite_end(self, **kwargs: Any) -> None:
        """Tell the plugins that a suite is over."""
        self._each("on_suite_end", **kwargs)

    def get_evaluators(self) -> list[BaseEvaluator]:
        """A new evaluator of each plugin that provides one."""
        return self._created(EvaluatorPlugin, lambda plugin: plugin.create_evaluator())

    def get_adapters(self) -> list[Any]:
        """A new adapter of each plugin that provides one."""
        return self._created(AdapterPlugin, lambda plugin: plugin.create_adapter())

    def get_reporters(self) -> list[Any]:
        """A new reporter of each plugin that provides one."""
        return self._created(ReporterPlugin, lambda plugin: plugin.create_reporter())

    def get_storage_backends(self) -> list[Any]:
        """A new storage of each plugin that provides one."""
        return self._created(StoragePlugin, lambda plugin: plugin.create_storage())

    def _installed(self) -> Iterator[tuple[str, Callable[[], list[object]]]]:
        for entry in sorted(entry_points(group=self._group), key=lambda entry: entry.name):
            yield f"entry point {entry.name!r} ({entry.value})", partial(_loaded, entry)

    def _add(self, found: object, origin: str) -> PluginBase:
        if not inspect.isclass(found) or not issubclass(found, PluginBase):
            raise DefinitionError(f"{origin} is no plugin; name a subclass of EvaluatorPlugin")
        if inspect.isabstract(found):
            missing = ", ".join(sorted(found.__abstractmethods__))
            raise DefinitionError(f"{origin} does not define {missing}")
        plugin = found()
        known = self._plugins.get(plugin.name)
        if known is not None:
            if type(known) is found:
                return known
            raise DefinitionError(
                f"{origin}: the plugin name {plugin.name!r} is taken by "
                f"{type(known).__qualname__}; rename one of the two"
            )
        self._plugins[plugin.name] = plugin
        _call(plugin, "on_load")
        return plugin

    def _each(self, hook: str, *args: Any, **kwargs: Any) -> None:
        for plugin in self.list_plugins():
            _call(plugin, hook, *args, **kwargs)

    def _created(self, kind: type[Any], create: Callable[[Any], Any]) -> list[Any]:
        made = []
        for plugin in self.list_plugins():
            if isinstance(plugin, kind):
                try:
                    made.append(create(plugin))
                except Exception:
                    log.exception("plugin %s created nothing", plugin.name)
        return made


def _call(plugin: PluginBase, hook: str, *args: Any, **kwargs: Any) -> None:
    try:
        getattr(plugin, hook)(*args, **kwargs)
    except Exception:
        log.exception("plugin %s failed in %s", plugin.name, hook)


def _files(folders: Iterable[str | Path]) -> Iterator[tuple[str, Callable[[], list[object]]]]:
    for folder in folders:
        if not Path(folder).is_dir():
            log.error("plugin folder %s does not exist", folder)
        for path in sorted(Path(folder).glob("[!_]*.py")):
            yield str(path), partial(_plugins_in, path)


def _loaded(entry: EntryPoint) -> list[object]:
    return [entry.load()]


def _plugins_in(path: Path) -> list[object]:
    module = _module(path)
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, PluginBase)
        and value.__module__ == module.__name__
    ]
    if not found:
        raise DefinitionError(f"{path} has no plugin; write a subclass of EvaluatorPlugin")
    return list(found)


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"agentprobe_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DefinitionError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
