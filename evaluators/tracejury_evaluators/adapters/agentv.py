"""AgentV's evaluators: the ones named in its eval files, and what its code judges read.

`load_evaluators` makes the entries under `execution.evaluators` evaluators of ours; run as a
program, this prints them as a section of `tracejury.yaml`. Scripts run unchanged.
Source: AgentV, "Custom Evaluators Guide".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from pydantic import TypeAdapter, ValidationError

from tracejury.errors import DefinitionError, MissingExtraError
from tracejury.evaluator import describe
from tracejury.evaluator.validation import field_names, nearest
from tracejury_evaluators.judge.by_criteria import LLMJudge
from tracejury_evaluators.judge.templates import built_in_template
from tracejury_evaluators.payload import PayloadCriteria, payload_of
from tracejury_evaluators.process.script import Process, words_of

MAX_FILE_BYTES = 1 << 20
SHELL_WORDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1"})
TEMPLATE_KEYS = ("evaluatorTemplate", "evaluator_template", "template")

CodeJudge = Process
LlmJudge = LLMJudge
DEFAULT_EVALUATOR_TEMPLATE = built_in_template(LLMJudge.default_template)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeJudgePayload:
    """What a code judge reads, with a field for each of the format's; see `payload_of`."""

    question: str = ""
    expected_outcome: str = ""
    reference_answer: str = ""
    candidate_answer: str = ""
    guideline_files: tuple[str, ...] = ()
    input_files: tuple[str, ...] = ()
    input_messages: tuple[dict[str, Any], ...] = ()
    output_messages: tuple[dict[str, Any], ...] = ()
    trace_summary: dict[str, Any] | None = None
    tracejury: dict[str, Any] | None = None


def parse_code_judge_payload(text: str) -> CodeJudgePayload:
    """The payload in a JSON text; what it lacks is empty, what it has besides is left aside.

    Raises: ValueError where it is no payload.
    """
    try:
        return TypeAdapter(CodeJudgePayload).validate_json(text)
    except ValidationError as error:
        raise ValueError(describe(error, "payload")) from None


def read_code_judge_payload(stream: TextIO | None = None) -> CodeJudgePayload:
    """The payload on standard input, or in `stream`.

    Raises: ValueError where it holds none.
    """
    return parse_code_judge_payload((stream or sys.stdin).read())


def load_evaluators(path: str | Path) -> dict[str, dict[str, Any]]:
    """The evaluators of an eval file by name, each as `type` and `config` of `tracejury.yaml`.

    Folders and files are seen from the eval file's folder and written as full paths.
    Raises: DefinitionError naming the file, the entry and the remedy; MissingExtraError without
    a reader of YAML.
    """
    file = Path(path).absolute()
    execution = _mapping(_read(file).get("execution"), f"{file}: execution")
    entries = execution.get("evaluators")
    if not isinstance(entries, list) or not entries:
        raise DefinitionError(f"{file}: there is no list of evaluators under execution.evaluators")
    common = {key: execution[key] for key in TEMPLATE_KEYS if key in execution}
    found: dict[str, dict[str, Any]] = {}
    for position, entry in enumerate(entries):
        where = f"{file}: execution.evaluators[{position}]"
        fields = dict(_mapping(entry, where))
        name = fields.pop("name", None)
        if not isinstance(name, str) or not name.strip():
            raise DefinitionError(f"{where} has no name; add `name: my_check`")
        if name in found:
            raise DefinitionError(f"{where}: the name {name!r} is taken; rename one of the two")
        found[name] = _spec(fields, common, file.parent, f"{where} ({name})")
    return found


def _spec(
    fields: dict[str, Any], common: Mapping[str, Any], folder: Path, where: str
) -> dict[str, Any]:
    kind = fields.pop("type", None)
    if kind == "code_judge":
        return {"type": Process.type, "config": _code_judge(fields, folder, where)}
    if kind == "llm_judge":
        own = common if not any(key in fields for key in TEMPLATE_KEYS) else {}
        return {"type": LLMJudge.type, "config": _llm_judge({**own, **fields}, folder, where)}
    raise DefinitionError(
        f"{where}: type {kind!r} is none of code_judge and llm_judge; "
        "look for its like with `tracejury evaluators`"
    )


def _code_judge(fields: Mapping[str, Any], folder: Path, where: str) -> dict[str, Any]:
    config = dict(fields)
    _check_keys(config, field_names(Process), where)
    cwd = config.setdefault("cwd", ".")
    config["cwd"] = str((folder / str(cwd)).resolve())
    try:
        words = words_of(config.get("script") or "")
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"{where}: {error}") from None
    if isinstance(config.get("script"), str) and not SHELL_WORDS.isdisjoint(words):
        raise DefinitionError(
            f"{where}: script {config['script']!r} is for a shell, and none reads it; "
            "write it as a list: [sh, -c, '…']"
        )
    config["script"] = [_found(word, Path(config["cwd"]), folder) for word in words]
    try:
        Process.model_validate(config)
    except ValidationError as error:
        raise DefinitionError(f"{where}: {describe(error, 'config')}") from None
    return config


def _found(word: str, cwd: Path, folder: Path) -> str:
    """The word; the full path where it names a file beside the eval file, but none in `cwd`."""
    if "/" not in word or (cwd / word).exists() or not (folder / word).is_file():
        return word
    return str((folder / word).resolve())


def _llm_judge(fields: Mapping[str, Any], folder: Path, where: str) -> dict[str, Any]:
    """The config of a judge: a prompt without variables is what it should heed."""
    config = {key: value for key, value in fields.items() if key not in (*TEMPLATE_KEYS, "prompt")}
    _check_keys(config, field_names(LLMJudge), where)
    template = [_text(fields[key], folder, where) for key in TEMPLATE_KEYS if key in fields]
    prompt = [_text(fields["prompt"], folder, where)] if "prompt" in fields else []
    if len(template) > 1:
        raise DefinitionError(f"{where}: {' and '.join(TEMPLATE_KEYS[:2])} are one; keep one")
    if prompt and "{{" in prompt[0] and not template:
        template, prompt = prompt, []
    return (
        config
        | ({"template": template[0]} if template else {})
        | ({"guideline": prompt[0]} if prompt else {})
    )


def _text(value: object, folder: Path, where: str) -> str:
    """A text, or what is in the file that it names."""
    if not isinstance(value, str) or not value.strip():
        raise DefinitionError(f"{where}: a prompt is a text or the path of a file, not {value!r}")
    if "\n" in value or "{{" in value or len(value) > 500 or not (folder / value).is_file():
        return value
    return _content(folder / value)


def _check_keys(config: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in config:
        if key not in known:
            hint = nearest(str(key), known) or f"; known are {', '.join(known)}"
            raise DefinitionError(f"{where}: {key!r} means nothing here{hint}")


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise DefinitionError(f"{where} is no mapping; see AgentV's eval files")
    return value


def _read(file: Path) -> Mapping[str, Any]:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError(
            f"{file}: reading YAML needs the extra 'server': pip install 'tracejury[server]'"
        ) from error
    try:
        return _mapping(yaml.safe_load(_content(file)), str(file))
    except (yaml.YAMLError, RecursionError) as error:
        raise DefinitionError(f"{file}: this is no YAML: {error}") from None


def _content(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise DefinitionError(f"{file} has more than {MAX_FILE_BYTES} bytes")
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{file} cannot be read: {error}") from None


def main(arguments: Sequence[str]) -> int:
    """Print the evaluators of eval files as a section of `tracejury.yaml` (JSON is YAML)."""
    try:
        found = [load_evaluators(argument) for argument in arguments]
    except (DefinitionError, MissingExtraError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    merged = {name: spec for specs in found for name, spec in specs.items()}
    text = json.dumps({"evaluators": merged}, indent=2, ensure_ascii=False)
    sys.stdout.write(f"{text}\n")
    return 0 if arguments else 2


__all__ = [
    "DEFAULT_EVALUATOR_TEMPLATE",
    "CodeJudge",
    "CodeJudgePayload",
    "LlmJudge",
    "PayloadCriteria",
    "load_evaluators",
    "parse_code_judge_payload",
    "payload_of",
    "read_code_judge_payload",
]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
