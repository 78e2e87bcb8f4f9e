"""The evaluators that a module or a Python file defines."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from tracejury.errors import DefinitionError
from tracejury.evaluator import Evaluator, EvaluatorFunction
from tracejury.evaluator.validation import nearest

MAX_SOURCE_BYTES = 4 << 20
FOREIGN = "__tracejury_evaluator__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a plugin defines, by name; `source_hash` is that of its file, "" for a module."""

    definitions: dict[str, object]
    source_hash: str = ""


_files: dict[tuple[Path, str], ModuleType] = {}


def load_file(path: Path, origin: str) -> Loaded:
    """What a Python file defines; the file is run once per process and content.

    Modules beside the file can be imported by it. `origin` says in messages where the file is
    named.
    Raises: DefinitionError where it cannot be read or run, or defines no evaluator.
    """
    source = _source(path, origin)
    digest = hashlib.blake2b(source, digest_size=8).hexdigest()
    key = (path.resolve(), digest)
    if key not in _files:
        _files[key] = _run(source, path, digest, origin)
    return Loaded(definitions=module_definitions(_files[key], origin), source_hash=digest)


def load_module(name: str, origin: str) -> Loaded:
    """What an installed module defines.

    Raises: DefinitionError where there is none, where it raises, or defines no evaluator.
    """
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _unusable(error, origin, None) from error
        raise DefinitionError(
            f"{origin}: no module is named {error.name!r}; install it where the service runs, "
            "or name a file, such as ./checks.py"
        ) from error
    except BaseException as error:
        raise _unusable(error, origin, getattr(error, "filename", None)) from error
    return Loaded(definitions=module_definitions(module, origin))


def _source(path: Path, origin: str) -> bytes:
    if not path.is_file():
        raise DefinitionError(f"{origin}: {_absent(path)}")
    try:
        with path.open("rb") as file:
            source = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise DefinitionError(f"{origin}: the file cannot be read: {error.strerror}") from error
    if len(source) > MAX_SOURCE_BYTES:
        raise DefinitionError(f"{origin}: the file has over {MAX_SOURCE_BYTES} bytes; split it")
    return source


def _absent(path: Path) -> str:
    if path.is_dir():
        return f"{str(path)!r} is a folder; name a file in it"
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r}; correct the path or create it"
    beside = sorted(found.name for found in path.parent.glob("*.py"))[:1000]
    hint = nearest(path.name, beside) or "; correct the name, or put the file there"
    return f"there is no file {path.name!r} in {str(path.parent)!r}{hint}"


def _run(source: bytes, path: Path, digest: str, origin: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_module_name(path, digest), path)
    if spec is None:
        raise DefinitionError(
            f"{origin}: {path.name!r} is no Python file; name it {path.stem}.py, "
            "or use an evaluator of type process for other languages"
        )
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[spec.name] = module
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))  # noqa: S102 that is its purpose
    except BaseException as error:
        del sys.modules[spec.name]
        raise _unusable(error, origin, str(path), spec.name) from error
    return module


def _module_name(path: Path, digest: str) -> str:
    """A name that no other module has."""
    return f"{path.stem.replace('.', '_')}_{digest}"


def _unusable(
    error: BaseException, origin: str, file: str | None, module: str = ""
) -> DefinitionError:
    """What went wrong while a plugin was imported, and in which line of its file."""
    if isinstance(error, DefinitionError):
        return DefinitionError(f"{origin}: {str(error).removeprefix(f'{module}.')}")
    try:
        text = " ".join(f"{type(error).__name__}: {error}".split())
    except BaseException:  # noqa: BLE001 - the error is the plugin's own
        text = type(error).__name__
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    where = f" (line {lines[-1]})" if lines else ""
    return DefinitionError(f"{origin}: it cannot be imported: {text:.500}{where}; mend the plugin")


def module_definitions(module: ModuleType, origin: str) -> dict[str, object]:
    found = {name: value for name, value in _own(module) if _is_definition(value)}
    if found:
        return found
    raise DefinitionError(f"{origin}: {_none_found(module)}")


def _own(module: ModuleType) -> Iterator[tuple[str, object]]:
    """The names that a module defines itself, once each; a package holds what is below it."""
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        home = value.function if isinstance(value, EvaluatorFunction) else value
        place = f"{getattr(home, '__module__', '')}."
        if place.startswith(f"{module.__name__}.") and id(value) not in seen:
            seen.add(id(value))
            yield name, value


def _is_definition(value: object) -> bool:
    if isinstance(value, EvaluatorFunction):
        return True
    if not inspect.isclass(value) or inspect.isabstract(value):
        return False
    if not issubclass(value, Evaluator):
        return hasattr(value, FOREIGN)
    return value.__pydantic_generic_metadata__["origin"] is None


def _has_evaluator_base(value: type) -> bool:
    return issubclass(value, Evaluator) or hasattr(value, FOREIGN)


def _none_found(module: ModuleType) -> str:
    judging = [
        name
        for name, value in _own(module)
        if inspect.isclass(value) and (hasattr(value, "evaluate") or "Evaluator" in name)
        # pydantic leaves `Base[Argument]` in the module that wrote it
        if "[" not in name
    ]
    known = [name for name in judging if _has_evaluator_base(getattr(module, name))]
    judging = known or judging
    if judging and not known:
        return (
            f"the class {judging[0]} does not inherit from Evaluator; "
            f"write `class {judging[0]}(Evaluator):`"
        )
    if judging:
        left = ", ".join(sorted(getattr(module, judging[0]).__abstractmethods__))
        return f"the class {judging[0]} does not define {left}; add it"
    return (
        "no evaluator is defined in it (what it imports does not count); write a class that "
        'inherits from Evaluator, or put @evaluator("my-check") above a function'
    )
