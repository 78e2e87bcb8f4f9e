"""`process`: a program in any language as an evaluator, over its standard input and output."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from tracejury.bounds import clip_start
from tracejury.evaluator import Evaluator
from tracejury.evaluator.hashing import fingerprint_of
from tracejury.result import Failure, Outcome
from tracejury.trace import Trace
from tracejury_evaluators.facts import missing_output
from tracejury_evaluators.payload import PayloadCriteria, payload_bytes
from tracejury_evaluators.process.answer import outcome_of_answer, said_in
from tracejury_evaluators.process.child import Command, Ended, run_command

KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
MAX_HASHED_BYTES = 16 << 20
MAX_TAIL_CHARS = 2_000
SPARE_S = 10.0

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Process(Evaluator[PayloadCriteria]):
    """Judges by a program in any language: it reads the run as JSON and prints its verdict.

    The program gets AgentV's input on standard input and prints AgentV's output: `score`, and if
    it likes `hits`, `misses`, `reasoning`, `verdict`, `details`. One that ends with another code
    than 0, runs too long, prints too much or anything else is a failure that keeps what it said.
    No shell is involved. Skipped where the answer was not captured.
    """

    type: ClassVar[str] = "process"
    label: ClassVar[str] = "Script"
    waits: ClassVar[bool] = True

    script: str | list[str] = Field(
        description="the command: a text that is split like a shell would, or a list"
    )
    cwd: str | None = Field(
        default=None, description="folder the command runs in; left out, the service's own"
    )
    timeout: float = Field(
        default=20.0, gt=0, le=3600, description="longest run of the script, in seconds"
    )
    env: tuple[Name, ...] = Field(
        default=(), description="names of environment variables that the command may see"
    )
    memory_mb: int = Field(
        default=1024, gt=0, description="memory that each of its processes may fill, in MiB"
    )
    max_output_bytes: int = Field(
        default=1 << 20, gt=0, le=16 << 20, description="most that it may print, in bytes"
    )
    requires_output: bool = Field(
        default=True, description="skip runs whose answer was not captured; false runs it on ''"
    )
    threshold: float = Field(default=1.0, ge=0, le=1, description="score from which it passes")

    @field_validator("script")
    @classmethod
    def _is_command(cls, script: str | list[str]) -> str | list[str]:
        words = words_of(script)
        if not words or not words[0]:
            raise ValueError("the script names no program; write it like `python3 check.py`")
        if any("\0" in word for word in words):
            raise ValueError("a command holds no NUL characters")
        return script

    @property
    def timeout_s(self) -> float:  # type: ignore[override]
        """The longest run: the script's, and what it takes to start and to end it."""
        return self.timeout + SPARE_S

    def fingerprint(self) -> str:
        """Of type, version, config, and the content of the files that the command names."""
        config = self.model_dump(by_alias=True)
        files = _hashes(words_of(self.script), Path(self.cwd or "."))
        return fingerprint_of(self.type, self.version, config | {"files": files})

    def evaluate(self, trace: Trace, criteria: PayloadCriteria) -> Outcome:
        skip = missing_output(trace) if self.requires_output else None
        if skip is not None:
            return skip
        command = self._command()
        if isinstance(command, Failure):
            return command
        try:
            ended = run_command(command, payload_bytes(trace, criteria))
        except OSError as error:
            return _not_started(command.argv[0], error.strerror or str(error))
        return self._outcome(command, ended)

    def _command(self) -> Command | Failure:
        words = words_of(self.script)
        if self.cwd is not None and not Path(self.cwd).is_dir():
            return Failure("ScriptNotFound", f"the folder cwd: {self.cwd!r} does not exist")
        environment = environment_of(self.env)
        program = _program(words[0], self.cwd, environment["PATH"])
        if program is None:
            return _not_started(words[0], "it is no program that can be found")
        return Command(
            argv=[program, *words[1:]],
            cwd=self.cwd,
            environment=environment,
            timeout_s=self.timeout,
            memory_bytes=self.memory_mb << 20,
            max_output_bytes=self.max_output_bytes,
        )

    def _outcome(self, command: Command, ended: Ended) -> Outcome:
        if ended.how == "exit" and ended.detail == "0":
            outcome = outcome_of_answer(ended.stdout, self.threshold)
            return outcome if not isinstance(outcome, Failure) else _told(outcome, ended)
        if ended.how == "timeout":
            failure = Failure("timeout", f"the script ran longer than {self.timeout:g} s")
        elif ended.how == "flood":
            failure = Failure(
                "TooMuchOutput", f"the script printed more than {self.max_output_bytes} bytes"
            )
        elif ended.how == "error":
            failure = _not_started(command.argv[0], ended.detail)
        else:
            failure = Failure("ScriptFailed", f"{_ending(ended)}; {said_in(ended.stdout)}")
        return _told(failure, ended)


def words_of(script: str | Sequence[str]) -> list[str]:
    """The words of a command.

    Raises: ValueError where a quotation is not closed.
    """
    if not isinstance(script, str):
        return list(script)
    try:
        return shlex.split(script)
    except ValueError as error:
        raise ValueError(f"the script cannot be split into words: {error}") from None


def environment_of(names: Sequence[str]) -> dict[str, str]:
    """The variables a script sees: few, none of them a secret, and those that were named."""
    wanted = (*KEPT_VARIABLES, *names)
    return {"PATH": DEFAULT_PATH} | {n: os.environ[n] for n in wanted if n in os.environ}


def _program(word: str, cwd: str | None, path: str) -> str | None:
    """The full path of the program; a name with a slash is seen from the script's own folder."""
    if "/" not in word:
        return shutil.which(word, path=path)
    file = Path(cwd or ".", word).absolute()
    return str(file) if file.is_file() else None


def _hashes(words: Sequence[str], folder: Path) -> Mapping[str, str]:
    """What is in the files among the words; very large ones count by their size alone."""
    found = {}
    for word in words:
        try:
            file = folder / word
            if not word or not file.is_file():
                continue
            size = file.stat().st_size
            content = file.read_bytes() if size <= MAX_HASHED_BYTES else str(size).encode()
            found[word] = hashlib.sha256(content).hexdigest()
        except (OSError, ValueError):
            continue
    return found


def _ending(ended: Ended) -> str:
    if ended.how == "exit":
        return f"the script ended with code {ended.detail}"
    if ended.how == "signal":
        return f"the script was ended by signal {ended.detail} (was it short of memory?)"
    return "the script and its guard were killed from outside"


def _not_started(program: str, why: str) -> Failure:
    return Failure(
        "ScriptNotFound",
        f"the script cannot be started: {program!r}: {why}; "
        "check script, cwd and PATH, or name its interpreter first",
    )


def _told(failure: Failure, ended: Ended) -> Failure:
    """The failure with the end of what the script wrote on standard error."""
    tail = clip_start(ended.stderr.decode("utf-8", "replace").strip(), MAX_TAIL_CHARS)
    last = tail.rpartition("\n")[2]
    message = f"{failure.message}; standard error ends: {last}" if last else failure.message
    return Failure(failure.error_type, message, tail)
