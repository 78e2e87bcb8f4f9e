"""`tracejury add evaluator`: a working evaluator with a test beside it."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Literal, get_args

from tracejury.errors import DefinitionError
from tracejury_evaluators.authoring.naming import Names, names_of, refuse_hidden

Style = Literal["function", "class", "process", "uipath", "agentprobe"]
STYLES: tuple[Style, ...] = get_args(Style)
UIPATH_FOLDER = Path("evals/evaluators/custom")


def generate(name: str, folder: Path, style: str) -> list[Path]:
    """Write the files of a new evaluator; return them, the evaluator first.

    Raises: DefinitionError for a name or style that cannot be, or a file that is there already;
    OSError where the folder cannot be written.
    """
    names = names_of(name)
    if style not in STYLES:
        raise DefinitionError(f"--style {style!r} is unknown; use one of {', '.join(STYLES)}")
    refuse_hidden(names)
    target = folder / UIPATH_FOLDER if style == "uipath" else folder
    files = {
        target / f"{names.snake}.py": _filled(f"{style}.py.txt", names),
        target / f"test_{names.snake}.py": _filled(f"{style}.test.txt", names),
    }
    for path in files:
        if path.exists():
            raise DefinitionError(f"{path} is there already; choose another name or --dir")
    target.mkdir(parents=True, exist_ok=True)
    return _written(files)


def _filled(template: str, names: Names) -> str:
    folder = importlib.resources.files("tracejury_evaluators.authoring") / "templates"
    text = (folder / template).read_text(encoding="utf-8")
    return Template(text).substitute(kebab=names.kebab, snake=names.snake, pascal=names.pascal)


def _written(files: Mapping[Path, str]) -> list[Path]:
    for path, text in files.items():
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return list(files)


def next_steps(files: list[Path], style: str) -> list[str]:
    """Commands that go on from the files that were written."""
    made, test = files
    steps = [f"python -m pytest {test}"]
    if style == "process":
        script = f'{{"script": ["python3", "{made}"]}}'
        return [*steps, f"tracejury evaluate --trace FILE --evaluator process --config '{script}'"]
    return [
        *steps,
        f"tracejury evaluate --trace FILE --evaluator {made}",
        f"tracejury register evaluator {made}",
    ]
