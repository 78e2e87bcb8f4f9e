"""Evaluators that users bring: installed packages, modules and files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator
from tracejury.evaluator.validation import nearest
from tracejury_evaluators.loading import Loaded, load_file, load_module, module_definitions
from tracejury_evaluators.registry import BUILT_IN, BUILT_IN_ORIGIN, Registry

ENTRY_POINT_GROUP = "tracejury.evaluators"
FILE_SCHEME = "file://"

PluginKind = Literal["entry_point", "module", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """Where evaluators come from: `name` as users wrote it, `target` as it is loaded.

    The target is an entry point's value, a module's name, or a file's absolute path.
    """

    kind: PluginKind
    name: str
    target: str
    package: str = ""

    @property
    def origin(self) -> str:
        """What it is called in messages."""
        if self.kind != "entry_point":
            return f"plugin {self.name!r}"
        package = f" of {self.package}" if self.package else ""
        return f"entry point {self.name!r} ({self.target}){package}"


def configured_plugin(name: str, folder: Path) -> Plugin:
    """The plugin that a configuration in `folder` names: a module, or a path of a file."""
    if name.endswith(".py") or "/" in name or name.startswith("."):
        return Plugin(kind="file", name=name, target=str((folder / name).absolute()))
    return Plugin(kind="module", name=name, target=name)


def installed_plugins(found: Iterable[EntryPoint] | None = None) -> list[Plugin]:
    """The plugins of installed packages, in order of their names."""
    if found is None:
        found = entry_points(group=ENTRY_POINT_GROUP)
    return [
        Plugin(
            kind="entry_point",
            name=entry.name,
            target=entry.value,
            package=entry.dist.name if entry.dist else "",
        )
        for entry in sorted(found, key=lambda entry: (entry.name, entry.value))
    ]


def load(plugin: Plugin) -> Loaded:
    """What a plugin defines.

    Raises: DefinitionError where it cannot be imported or defines no evaluator.
    """
    if plugin.kind == "file":
        return load_file(Path(plugin.target), plugin.origin)
    if plugin.kind == "module":
        return load_module(plugin.target, plugin.origin)
    try:
        entry = EntryPoint(name=plugin.name, value=plugin.target, group=ENTRY_POINT_GROUP)
        found = entry.load()
    except BaseException as error:
        raise DefinitionError(
            f"{plugin.origin} cannot be loaded: {type(error).__name__}: {error}; "
            "mend or uninstall the plugin"
        ) from error
    if isinstance(found, ModuleType):
        return Loaded(definitions=module_definitions(found, plugin.origin))
    return Loaded(definitions={plugin.name: found})


class PluginRegistry(Registry):
    """A registry that takes in plugins, and files that types name: `file://my_check.py:MyCheck`.

    `folder` is where relative paths start. `later` are plugins by the types that they define: each
    is loaded when one of its types is first used. `sources` says which plugin a type came from.
    """

    def __init__(self, folder: Path, later: Mapping[str, Plugin] | None = None) -> None:
        super().__init__()
        self.sources: dict[str, Plugin] = {}
        self._folder = folder
        self._later = dict(later or {})
        for evaluator in BUILT_IN:
            self.register(evaluator, origin=BUILT_IN_ORIGIN)

    def add(self, plugin: Plugin) -> None:
        """Register what a plugin defines.

        Raises: DefinitionError where it cannot be used; it names the plugin.
        """
        folder = str(self._folder.absolute())
        if plugin.kind == "module" and folder not in sys.path:
            sys.path.append(folder)
        loaded = load(plugin)
        for definition in loaded.definitions.values():
            name = self.register(definition, origin=plugin.origin, source_hash=loaded.source_hash)
            self.sources[name] = plugin

    def evaluator_class(self, type_name: str) -> type[Evaluator[Any]]:
        """The class of a type, after loading the plugin or file that it comes from.

        Raises: DefinitionError for an unknown one, or where its plugin cannot be used.
        """
        if not self.knows(type_name):
            if isinstance(type_name, str) and type_name.startswith(FILE_SCHEME):
                self._add_file(type_name)
            elif type_name in self._later:
                self.add(self._later[type_name])
        return super().evaluator_class(type_name)

    def _add_file(self, type_name: str) -> None:
        """Register one evaluator of a file under the name by which it is asked for."""
        path, _, wanted = type_name.removeprefix(FILE_SCHEME).partition(":")
        target = str((self._folder / path).absolute())
        plugin = Plugin(kind="file", name=path, target=target)
        loaded = load_file(Path(target), type_name)
        definition = _chosen(loaded.definitions, wanted, type_name)
        self.register(
            definition, origin=plugin.origin, source_hash=loaded.source_hash, name=type_name
        )
        self.sources[type_name] = plugin


def _chosen(definitions: Mapping[str, object], wanted: str, type_name: str) -> object:
    if wanted in definitions:
        return definitions[wanted]
    if not wanted and len(definitions) == 1:
        return next(iter(definitions.values()))
    known = ", ".join(definitions)
    if wanted:
        hint = nearest(wanted, definitions) or f"; it defines {known}"
        raise DefinitionError(f"{type_name}: the file defines no evaluator {wanted!r}{hint}")
    raise DefinitionError(
        f"{type_name}: the file defines {known}; name one of them, "
        f"as in {type_name.rstrip(':')}:{next(iter(definitions))}"
    )


def full_registry(folder: Path, configured: Iterable[str] = ()) -> PluginRegistry:
    """The built-in evaluators, those of installed packages, and those of `configured` plugins.

    Raises: DefinitionError where a plugin cannot be used, or is named twice; it names the plugin.
    """
    registry = PluginRegistry(folder)
    for plugin in all_plugins(folder, configured):
        registry.add(plugin)
    return registry


def all_plugins(folder: Path, configured: Iterable[str] = ()) -> list[Plugin]:
    """Installed plugins, then those of the configuration, in the order of registration.

    Raises: DefinitionError where one is named twice.
    """
    named: dict[str, str] = {}
    plugins = installed_plugins()
    for name in configured:
        plugin = configured_plugin(name, folder)
        twin = named.setdefault(plugin.target, name)
        if twin != name or any(plugin == other for other in plugins):
            raise DefinitionError(f"plugins: {name!r} is named twice; keep one of them")
        plugins.append(plugin)
    return plugins


def default_registry() -> PluginRegistry:
    """The built-in evaluators, then those of installed packages.

    Raises: DefinitionError where an installed plugin cannot be used; it names the plugin.
    """
    return full_registry(Path())
