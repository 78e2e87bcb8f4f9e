"""Plugins: what they bring, and one clear sentence for what cannot be used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tracejury.errors import DefinitionError
from tracejury.evaluator import run_evaluator
from tracejury.result import Score
from tracejury.testing import make_trace
from tracejury_evaluators.plugins import PluginRegistry, configured_plugin, full_registry

HEAD = """
from typing import Any, ClassVar
from tracejury import Criteria, Evaluator, Score, Skip, Trace, evaluator
"""
GREETS = """
@evaluator("greets")
def greets(trace: Trace, *, name: str = "") -> bool:
    return f"Hello {name}".strip() in trace.output_text
"""
COUNTS = """
class Counts(Evaluator):
    \"\"\"Counts words.\"\"\"
    type: ClassVar[str] = "counts"
    most: int = 3

    def evaluate(self, trace: Trace, criteria: Criteria) -> bool:
        return len(trace.output_text.split()) <= self.most
"""


@pytest.fixture(autouse=True)
def _untouched_modules() -> Iterator[None]:
    modules, path = dict(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]
    sys.path[:] = path


def write(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + dedent(source), encoding="utf-8")
    return path


def brought(folder: Path, *plugins: str) -> list[str]:
    return [row.type for row in full_registry(folder, plugins).types() if not row.builtin]


def refusal(folder: Path, *plugins: str) -> str:
    with pytest.raises(DefinitionError) as raised:
        full_registry(folder, plugins)
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_a_file_brings_all_that_it_defines_in_its_order(tmp_path: Path) -> None:
    write(tmp_path, "checks.py", GREETS + COUNTS + "again = greets\n")
    assert brought(tmp_path, "./checks.py") == ["greets", "counts"]
    registry = full_registry(tmp_path, ["checks.py"])
    assert registry.sources["counts"] == configured_plugin("checks.py", tmp_path)
    assert registry.types()[-1].origin == "plugin 'checks.py'"


def test_a_file_evaluator_judges(tmp_path: Path) -> None:
    write(tmp_path, "checks.py", GREETS)
    built = full_registry(tmp_path, ["checks.py"]).build("greets", {"name": "Ann"})
    assert run_evaluator(built, make_trace(output="Hello Ann!")) == Score(1.0, "pass")


def test_what_a_file_only_imports_is_not_registered(tmp_path: Path) -> None:
    write(tmp_path, "shared_checks.py", GREETS + "class Base(Evaluator):\n    pass\n")
    source = "from shared_checks import Base, greets\n" + COUNTS.replace("Evaluator)", "Base)")
    write(tmp_path, "checks.py", source)
    assert brought(tmp_path, "checks.py") == ["counts"]


def test_a_module_may_lie_beside_the_configuration(tmp_path: Path) -> None:
    write(tmp_path, "acme_checks/__init__.py", "from acme_checks.words import Counts\n" + GREETS)
    write(tmp_path, "acme_checks/words.py", COUNTS)
    assert sorted(brought(tmp_path, "acme_checks")) == ["counts", "greets"]


def test_a_type_may_name_a_class_in_a_file(tmp_path: Path) -> None:
    write(tmp_path, "my_check.py", GREETS + COUNTS)
    write(tmp_path, "one.py", GREETS)
    registry = PluginRegistry(tmp_path)
    built = registry.build("file://my_check.py:Counts", {"most": 1})
    assert run_evaluator(built, make_trace(output="one two")) == Score(0.0, "fail")
    assert registry.build("file://my_check.py:greets")
    assert registry.build("file://one.py")
    assert [row.type for row in registry.types() if not row.builtin] == [
        "file://my_check.py:Counts",
        "file://my_check.py:greets",
        "file://one.py",
    ]


def test_a_file_can_be_a_plugin_and_be_named_by_a_type(tmp_path: Path) -> None:
    write(tmp_path, "checks.py", GREETS)
    registry = full_registry(tmp_path, ["checks.py"])
    named, typed = registry.build("greets"), registry.build("file://checks.py:greets")
    assert type(named) is type(typed)
    assert named.fingerprint() == typed.fingerprint()


def test_the_contents_of_a_file_are_in_the_fingerprint(tmp_path: Path) -> None:
    prints = set()
    for words in ("", "# other words\n", ""):
        write(tmp_path, "checks.py", COUNTS + words)
        prints.add(full_registry(tmp_path, ["checks.py"]).build("counts").fingerprint())
    assert len(prints) == 2


def test_a_plugin_can_be_loaded_when_one_of_its_types_is_used(tmp_path: Path) -> None:
    write(tmp_path, "checks.py", GREETS)
    write(tmp_path, "broken.py", "raise SystemExit(3)\n")
    later = {
        "greets": configured_plugin("checks.py", tmp_path),
        "breaks": configured_plugin("broken.py", tmp_path),
    }
    registry = PluginRegistry(tmp_path, later)
    assert not registry.knows("greets")
    assert registry.build("greets")
    with pytest.raises(DefinitionError, match=r"broken.py.*cannot be imported: SystemExit"):
        registry.build("breaks")
    assert registry.build("no-loops")


def test_future_statements_are_the_files_own(tmp_path: Path) -> None:
    write(tmp_path, "checks.py", COUNTS + "x: int = 1\nassert __annotations__['x'] is int\n")
    assert brought(tmp_path, "checks.py") == ["counts"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./chekcs.py", "there is no file 'chekcs.py' in '{folder}'; did you mean 'checks.py'?"),
        ("./zzz.py", "there is no file 'zzz.py' in '{folder}'; correct the name, or put the file"),
        ("./none/checks.py", "there is no folder '{folder}/none'; correct the path or create it"),
        ("./sub", "'{folder}/sub' is a folder; name a file in it"),
        ("./check.js", "'check.js' is no Python file; name it check.py, or use an evaluator of"),
        ("nowhere_at_all", "no module is named 'nowhere_at_all'; install it where the service"),
        ("acme.nowhere", "no module is named 'acme'; install it where the service runs, or name"),
    ],
)
def test_a_plugin_that_is_not_there_is_named_with_its_place(
    tmp_path: Path, name: str, message: str
) -> None:
    write(tmp_path, "checks.py", GREETS)
    (tmp_path / "sub").mkdir()
    (tmp_path / "check.js").write_text("exports.x = 1")
    expected = f"plugin '{name}': {message.format(folder=tmp_path)}"
    assert refusal(tmp_path, name).startswith(expected)


NOT_USABLE = [
    ("", "no evaluator is defined in it (what it imports does not count); write a class that"),
    ("import nowhere_at_all", "it cannot be imported: ModuleNotFoundError: No module named 'no"),
    ("x = 1\nraise ValueError('no')", "it cannot be imported: ValueError: no (line 5); mend the"),
    ("raise SystemExit", "it cannot be imported: SystemExit: "),
    ("raise KeyboardInterrupt", "it cannot be imported: KeyboardInterrupt: "),
    ("def f(:", "it cannot be imported: SyntaxError: invalid syntax"),
    (
        "class MyEvaluator:\n    def evaluate(self, trace, criteria):\n        return True",
        "the class MyEvaluator does not inherit from Evaluator; write `class MyEvaluator(Evalua",
    ),
    (
        "class Mine(Evaluator):\n    def judge(self):\n        return True",
        "the class Mine does not define evaluate; add it",
    ),
    (
        "class Mine(Evaluator):\n    def evaluate(self, trace, criteria):\n        return True",
        "Mine has no type: add `type: ClassVar[str] = 'mine'`",
    ),
    (
        "class A(Criteria): pass\nclass B(Criteria): pass\nclass Mine(Evaluator[A]):\n"
        "    type: ClassVar[str] = 'mine'\n"
        "    def evaluate(self, trace: Trace, criteria: B) -> bool:\n        return True",
        "Mine declares A as its criteria, but evaluate takes B; write `class Mine(Evaluator[B])`",
    ),
    (
        "class Mine(Evaluator[int]):\n    type: ClassVar[str] = 'mine'",
        "int is no criteria type; write `class int(Criteria):`",
    ),
    (
        "@evaluator('mine')\ndef mine(trace: Trace, city: str) -> bool:\n    return True",
        "mine: the parameter 'city' is no Criteria; put a `*,` before it if it is config",
    ),
    ("@evaluator\ndef mine(trace):\n    return True", 'needs a name; write @evaluator("my-check'),
    (
        "@evaluator('no-loops')\ndef mine(trace: Trace) -> bool:\n    return True",
        "'no-loops' of plugin 'checks.py' is already registered (built in); rename one",
    ),
    (
        "@evaluator('mine')\ndef mine(trace: Trace, *, f: type[Any] = int) -> bool:\n    return 1",
        "mine has a field without a JSON Schema",
    ),
    (
        "class Theirs:\n    @classmethod\n    def __tracejury_evaluator__(cls):\n"
        "        raise RuntimeError('no id')",
        "Theirs cannot be made an evaluator: RuntimeError: no id",
    ),
]


@pytest.mark.parametrize(("source", "message"), NOT_USABLE)
def test_a_definition_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, source: str, message: str
) -> None:
    write(tmp_path, "checks.py", source)
    found = refusal(tmp_path, "checks.py")
    assert "plugin 'checks.py'" in found
    assert message in found


def test_the_same_type_from_two_plugins_is_refused_by_both_names(tmp_path: Path) -> None:
    write(tmp_path, "a.py", GREETS)
    write(tmp_path, "b.py", GREETS + "# other")
    assert refusal(tmp_path, "a.py", "b.py") == (
        "evaluator type 'greets' of plugin 'b.py' is already registered (plugin 'a.py'); "
        "rename one of the two"
    )


def test_a_plugin_named_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.py", GREETS)
    message = "plugins: 'a.py' is named twice; keep one of them"
    assert refusal(tmp_path, "./a.py", "a.py") == message
    assert refusal(tmp_path, "a.py", "a.py") == message


@pytest.mark.parametrize(
    ("type_name", "message"),
    [
        ("file://a.py:Count", "file://a.py:Count: the file defines no evaluator 'Count'; did you"),
        ("file://a.py:zzz", "file://a.py:zzz: the file defines no evaluator 'zzz'; it defines gr"),
        ("file://a.py", "file://a.py: the file defines greets, Counts; name one of them, as in "),
        ("file://b.py:X", "file://b.py:X: there is no file 'b.py' in "),
        ("file://", "file://: "),
    ],
)
def test_a_type_that_names_no_evaluator_of_a_file_says_what_there_is(
    tmp_path: Path, type_name: str, message: str
) -> None:
    write(tmp_path, "a.py", GREETS + COUNTS)
    with pytest.raises(DefinitionError) as raised:
        PluginRegistry(tmp_path).build(type_name)
    assert str(raised.value).startswith(message)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"#" * (5 << 20))
    assert "the file has over 4194304 bytes; split it" in refusal(tmp_path, "a.py")
