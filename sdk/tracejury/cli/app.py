"""The command line's frame: the app, the options that many commands share, and how they end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from tracejury import terminal
from tracejury.client import Client
from tracejury.errors import ApiError, DefinitionError, TracejuryError, UnreachableError
from tracejury.services import load_service

CHECK_FAILED = 1
WRONG_USE = 2
UNREACHABLE = 3

app = typer.Typer(
    name="tracejury",
    help="A jury for agent traces: OTLP in, traces rebuilt, judged and queryable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="TRACEJURY_URL",
        help="Address of the service's API.",
        show_default="http://127.0.0.1:4319",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Most rows to print.")]


def example(*lines: str) -> str:
    """The examples at the end of a command's help."""
    return "Example:\n\n" + "\n\n".join(lines)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        terminal.console().print(Text(f"tracejury {installed('tracejury')}"))
        raise typer.Exit


def service_command(name: str, extra: str = "server") -> Callable[..., int]:
    """A command of the service; where it is not installed, one line says what to install."""
    with explained():
        return load_service(name, f"'tracejury {name}'", extra)


@contextlib.contextmanager
def connected(url: str | None) -> Iterator[Client]:
    with explained(), Client(url) as client:
        yield client


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn the library's errors into lines on stderr, one a problem, and an exit code."""
    try:
        yield
    except UnreachableError as error:
        fail(str(error), UNREACHABLE)
    except ApiError as error:
        terminal.print_problem(str(error))
        terminal.print_excerpt(error.excerpt)
        raise typer.Exit(UNREACHABLE if error.status >= 500 else WRONG_USE) from None
    except DefinitionError as error:
        *others, last = str(error).splitlines()
        for line in others:
            terminal.print_problem(line)
        fail(last, WRONG_USE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads on: `| head` ended
        raise typer.Exit(1) from None
    except TracejuryError as error:
        fail(str(error), WRONG_USE)
    except OSError as error:
        fail(_said(error), WRONG_USE)


def _said(error: OSError) -> str:
    """The file and what is wrong with it; no number."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename!r}: {error.strerror.lower()}"


def fail(message: str, code: int) -> NoReturn:
    terminal.print_problem(message)
    raise typer.Exit(code)
