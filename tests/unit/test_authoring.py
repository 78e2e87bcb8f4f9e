"""The commands for authors: listing, trying, adding and registering evaluators."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from tracejury.cli import app
from tracejury.codec import dump_trace
from tracejury.testing import make_llm_call, make_tool_call, make_trace
from tracejury.view import trace_to_api
from tracejury_evaluators.registry import built_in_registry

CHECKS = '''
import os
from tracejury import Criteria, Evaluator, Score, Trace, evaluator

class Wanted(Criteria):
    word: str = "18"

@evaluator("says")
def says(trace: Trace, criteria: Wanted, *, shout: bool = False) -> Score:
    """Passes if the answer says the word."""
    print("printed on the way")
    found = criteria.word in trace.output_text
    return Score(float(found), reason=f"{criteria.word!r} {'found' if found else 'missing'}")

@evaluator("hangs")
def hangs(trace: Trace) -> bool:
    while True:
        pass

@evaluator("exits")
def exits(trace: Trace) -> bool:
    os._exit(7)
'''
BUILT_IN = [row.type for row in built_in_registry().types()]


def run(*args: str, columns: int = 80, **options: Any) -> Result:
    return CliRunner(env={"COLUMNS": str(columns), "TRACEJURY_URL": ""}).invoke(
        app, args, **options
    )


@pytest.fixture
def checks(tmp_path: Path) -> Path:
    path = tmp_path / "checks.py"
    path.write_text(CHECKS)
    return path


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    trace = make_trace(
        tool_calls=["search", make_tool_call("read", error="no \x1b[2J such file")],
        llm_calls=[make_llm_call(tools=["search", "read"])],
    )
    path.write_bytes(orjson.dumps(trace_to_api(trace)))
    return path


def tried(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("evaluate", *args, "--json").stdout)
    return found


class TestEvaluators:
    """`tracejury evaluators`."""

    def test_all_types_are_listed_by_family_in_80_columns(self) -> None:
        result = run("evaluators")
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        assert all(len(line) <= 80 for line in lines)
        listed = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
        assert listed == BUILT_IN
        assert lines[0] == "output"

    @pytest.mark.parametrize("columns", [80, 140])
    def test_a_type_is_explained_with_its_fields_and_the_example_of_the_docs(
        self, columns: int
    ) -> None:
        result = run("evaluators", "latency-budget", columns=columns)
        assert result.exit_code == 0, result.output
        head, *_ = result.stdout.splitlines()
        assert head.startswith("latency-budget  ")
        assert "budget_ms" in result.stdout
        assert "maxMs" in result.stdout
        assert "type: latency-budget" in result.stdout.split("example")[1]
        assert "\x1b" not in result.stdout

    def test_a_type_that_takes_nothing_says_so(self) -> None:
        assert "criteria  none" in run("evaluators", "no-tool-errors").stdout

    def test_json_is_one_document(self) -> None:
        types = json.loads(run("evaluators", "--json").stdout)["types"]
        assert [row["type"] for row in types] == BUILT_IN
        one = json.loads(run("evaluators", "regex", "--json").stdout)
        assert one["config_schema"]["properties"]["pattern"]
        assert one["family"] == "output"
        assert "type: regex" in one["example"]

    def test_types_of_a_file_are_listed_last_and_explained(self, checks: Path) -> None:
        listing = run("evaluators", "--plugin", str(checks)).stdout
        assert listing.index("your own") > listing.index("no-loops")
        explained = run("evaluators", "says", "--plugin", str(checks)).stdout
        assert "shout" in explained
        assert "says: " not in explained.split("criteria")[0]
        assert "my-says: {type: says}" in explained

    def test_an_unknown_type_is_wrong_use_and_names_the_nearest(self) -> None:
        result = run("evaluators", "regexp")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "did you mean 'regex'?" in result.stderr

    def test_a_plugin_that_cannot_be_imported_is_named(self, tmp_path: Path) -> None:
        broken = tmp_path / "broken.py"
        broken.write_text("import no_such_module_here\n")
        result = run("evaluators", "--plugin", str(broken))
        assert result.exit_code == 2
        assert "broken.py" in result.stderr
        assert "no_such_module_here" in result.stderr
        assert result.stderr.count("\n") == 1

    def test_a_plugin_that_ends_the_process_is_said(self, tmp_path: Path) -> None:
        gone = tmp_path / "gone.py"
        gone.write_text("import os\nos._exit(9)\n")
        result = run("evaluators", "--plugin", str(gone))
        assert result.exit_code == 2
        assert "exit code 9" in result.stderr


class TestEvaluate:
    """`tracejury evaluate`."""

    def test_an_outcome_is_shown_with_all_it_says(self, trace_file: Path) -> None:
        result = run("evaluate", "--trace", str(trace_file), "--evaluator", "no-tool-errors")
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert all(len(line) <= 80 for line in lines)
        words = [line.strip("│ ").split()[0] for line in lines[1:-1]]
        assert words[:5] == ["trace", "score", "reason", "misses", "evidence"]
        assert "FAIL" in lines[0]
        assert "tool-2" in result.stdout
        assert "\x1b" not in result.stdout
        assert "\\x1b[2J" in result.stdout

    def test_a_pass_ends_with_0_and_json_is_one_document(self, trace_file: Path) -> None:
        result = run(
            "evaluate", "--trace", str(trace_file), "--evaluator", "non-empty-output", "--json"
        )
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        (one,) = found["results"]
        assert (one["evaluator"], one["verdict"], found["bad"]) == ("non-empty-output", "pass", 0)
        assert one["trace_id"] == make_trace().trace_id
        assert one["duration_ms"] > 0

    def test_a_skip_ends_with_0(self, trace_file: Path) -> None:
        result = run("evaluate", "--trace", str(trace_file), "--evaluator", "tool-usage")
        assert result.exit_code == 0
        assert "SKIP" in result.stdout

    def test_config_and_criteria_go_to_the_evaluator(
        self, trace_file: Path, tmp_path: Path
    ) -> None:
        case = tmp_path / "case.json"
        case.write_text('{"pattern": "Paris"}')
        base = ["--trace", str(trace_file), "--evaluator", "regex"]
        assert tried(*base, "--config", '{"pattern": "Rome"}')["bad"] == 1
        assert tried(*base, "--config", '{"pattern": "Rome"}', "--criteria", f"@{case}")["bad"] == 0

    def test_each_evaluator_may_have_its_own_config(self, trace_file: Path) -> None:
        both = ["--evaluator", "latency-budget", "--evaluator", "regex"]
        given = ["--config", '{"budget_ms": 5000}', "--config", '{"pattern": "Paris"}']
        found = tried("--trace", str(trace_file), *both, *given)
        assert [one["verdict"] for one in found["results"]] == ["pass", "pass"]

    def test_a_function_of_a_file_is_tried_and_may_print(
        self, trace_file: Path, checks: Path
    ) -> None:
        spec = f"{checks}:says"
        result = run("evaluate", "--trace", str(trace_file), "--evaluator", spec, "--json")
        assert result.exit_code == 0, result.output
        (one,) = json.loads(result.stdout)["results"]
        assert (one["evaluator"], one["reason"]) == (spec, "'18' found")

    def test_a_composite_takes_evaluators_of_the_configuration(
        self, tmp_path: Path, trace_file: Path
    ) -> None:
        config = tmp_path / "tracejury.yaml"
        config.write_text(
            "evaluators:\n"
            "  short: {type: word-count, config: {max_words: 1}}\n"
            "  whole: {type: composite, config: {members: [short, {type: non-empty-output}]}}\n"
        )
        base = ["--trace", str(trace_file), "--config-file", str(config)]
        both = '{"members": ["short", {"evaluator": "short", "name": "again"}]}'
        [whole] = tried(*base, "--evaluator", "whole")["results"]
        [given] = tried(*base, "--evaluator", "composite", "--config", both)["results"]
        assert (whole["verdict"], given["verdict"]) == ("partial", "fail")
        assert [member["name"] for member in whole["details"]["members"]] == [
            "short",
            "non-empty-output",
        ]
        unknown = ["--evaluator", "composite", "--config", '{"members": ["shrt"]}']
        result = run("evaluate", *base, *unknown)
        assert result.exit_code == 2
        assert "no evaluator is named 'shrt'; did you mean 'short'?" in result.stderr

    def test_files_of_the_current_folder_hide_no_module(
        self, tmp_path: Path, trace_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "json.py").write_text("raise ImportError('hidden')")
        monkeypatch.chdir(tmp_path)
        [one] = tried("--trace", str(trace_file), "--evaluator", "non-empty-output")["results"]
        assert one["verdict"] == "pass"

    def test_a_long_reason_leaves_the_other_columns(self, trace_file: Path, checks: Path) -> None:
        word = json.dumps({"word": "x" * 500})
        names = ["--evaluator", f"{checks}:says"] * 5
        result = run("evaluate", "--trace", str(trace_file), *names, "--criteria", word)
        head, row, *_ = result.stdout.splitlines()
        assert head.split() == ["trace", "evaluator", "verdict", "score", "reason"]
        assert "fail" in row
        assert row.rstrip().endswith("…")
        assert max(map(len, result.stdout.splitlines())) <= 80

    def test_a_file_that_cannot_be_read_is_said_in_words(self, trace_file: Path) -> None:
        base = ["evaluate", "--trace", str(trace_file), "--evaluator", "no-loops"]
        result = run(*base, "--config", "@nope.json")
        assert result.exit_code == 2
        assert result.stderr == "tracejury: 'nope.json': no such file or directory\n"

    def test_one_that_hangs_or_exits_harms_no_other(self, trace_file: Path, checks: Path) -> None:
        names = [f"{checks}:hangs", f"{checks}:exits", "non-empty-output"]
        options = [part for name in names for part in ("--evaluator", name)]
        found = tried("--trace", str(trace_file), *options, "--timeout", "0.5")
        hangs, exits, fine = found["results"]
        assert "longer than 0.5 s" in hangs["message"]
        assert "exit code 7" in exits["message"]
        assert fine["verdict"] == "pass"
        assert found["bad"] == 2

    def test_what_is_lost_three_times_is_not_tried_again(
        self, tmp_path: Path, checks: Path
    ) -> None:
        file = tmp_path / "many.jsonl"
        file.write_bytes(b"\n".join([dump_trace(make_trace(session_id=str(n))) for n in range(5)]))
        names = ["--evaluator", f"{checks}:exits", "--evaluator", "non-empty-output"]
        found = tried("--trace", str(file), *names)["results"]
        said = [one.get("error_type", one.get("verdict")) for one in found]
        assert said[0::2] == ["Lost"] * 3 + ["Abandoned"] * 2
        assert said[1::2] == ["pass"] * 5

    def test_many_outcomes_are_a_table_with_a_sum(self, tmp_path: Path) -> None:
        file = tmp_path / "many.jsonl"
        file.write_bytes(b"\n".join([dump_trace(make_trace(output=o)) for o in ("a", "", "b")]))
        two = ["--evaluator", "non-empty-output", "--evaluator", "no-loops"]
        result = run("evaluate", "--trace", str(file), *two)
        lines = result.stdout.splitlines()
        assert lines[0].split() == ["trace", "evaluator", "verdict", "score", "reason"]
        assert len(lines) == 8
        assert lines[-1].startswith("6 judgements: ")
        assert all(len(line) <= 80 for line in lines)
        assert result.exit_code == 1

    def test_names_of_a_configuration_are_tried_with_their_criteria(
        self, trace_file: Path, checks: Path
    ) -> None:
        config = checks.with_name("tracejury.yaml")
        config.write_text(
            "plugins: [./checks.py]\n"
            "evaluators:\n"
            "  weather: {type: says, criteria: {word: degrees}}\n"
            "  paris: {type: regex, config: {pattern: Paris}}\n"
        )
        base = ["--trace", str(trace_file), "--config-file", str(config)]
        found = tried(*base, "--evaluator", "weather", "--evaluator", "paris")["results"]
        assert [one["verdict"] for one in found] == ["pass", "pass"]
        assert [one["type"] for one in found] == ["says", "regex"]
        unknown = run("evaluate", *base, "--evaluator", "wether")
        assert unknown.exit_code == 2
        assert "weather" in unknown.stderr

    def test_the_payload_of_a_script_is_printed(self, trace_file: Path) -> None:
        case = '{"expected_outcome": "a temperature"}'
        result = run("evaluate", "--trace", str(trace_file), "--stdin-payload", "--criteria", case)
        assert result.exit_code == 0, result.output
        payload = json.loads(result.stdout)
        assert payload["candidate_answer"] == make_trace().output_text
        assert payload["expected_outcome"] == "a temperature"
        assert payload["guideline_files"] == []

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--trace", "nowhere", "--evaluator", "regex"], "neither a file nor a trace id"),
            (["--trace", "FILE", "--evaluator", "regexp"], "did you mean 'regex'?"),
            (["--trace", "FILE", "--evaluator", "gone.py"], "gone.py"),
            (["--trace", "FILE", "--evaluator", "regex", "--config", "{"], "is no JSON"),
            (["--trace", "FILE", "--evaluator", "regex", "--config", "[]"], "no JSON object"),
            (["--trace", "FILE", "--evaluator", "regex", "--config", "@gone"], "gone"),
            (["--trace", "FILE", "--evaluator", "regex", "--config", '{"x": 1}'], "config.x"),
            (["--trace", "FILE", "--evaluator", "regex", *["--config", "{}"] * 2], "2 times"),
            (["--trace", "FILE"], "either --evaluator or --stdin-payload"),
            (
                ["--trace", "FILE", "--stdin-payload", "--criteria", '{"x": 1}'],
                "has no place in a payload",
            ),
        ],
    )
    def test_wrong_use_is_2_and_says_what_is_wrong(
        self, trace_file: Path, options: list[str], said: str
    ) -> None:
        given = [str(trace_file) if option == "FILE" else option for option in options]
        result = run("evaluate", *given)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr
        assert result.stderr.count("\n") == 1

    def test_an_id_needs_the_service(self) -> None:
        result = run(
            "evaluate", "--trace", "a" * 32, "--evaluator", "regex", "--url", "http://127.0.0.1:9"
        )
        assert result.exit_code == 3


STYLES = ["function", "class", "process", "uipath", "agentprobe"]


class TestAdd:
    """`tracejury add evaluator`."""

    @pytest.mark.parametrize("style", STYLES)
    def test_the_file_and_its_test_work_as_they_are(self, style: str, tmp_path: Path) -> None:
        result = run(
            "add", "evaluator", "cites-sources", "--style", style, "--dir", str(tmp_path), "--json"
        )
        assert result.exit_code == 0, result.output
        made, test = map(Path, json.loads(result.stdout)["files"])
        assert (made.name, test.name) == ("cites_sources.py", "test_cites_sources.py")
        folder = tmp_path / "evals/evaluators/custom" if style == "uipath" else tmp_path
        assert made.parent == test.parent == folder
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider",
             "-p", "no:asyncio", "-p", "no:xdist", test.name],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert " passed" in done.stdout

    @pytest.mark.parametrize("style", STYLES)
    def test_what_is_generated_has_nothing_that_a_linter_minds(
        self, style: str, tmp_path: Path
    ) -> None:
        run("add", "evaluator", "cites-sources", "--style", style, "--dir", str(tmp_path))
        (made,) = tmp_path.rglob("cites_sources.py")
        done = subprocess.run(
            [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "100",
             "--select", "E,F,I,RUF,UP,B"],
            cwd=made.parent, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout

    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        test = tmp_path / "test_mine.py"
        test.write_text("mine")
        result = run("add", "evaluator", "mine", "--dir", str(tmp_path))
        assert result.exit_code == 2
        assert "is there already" in result.stderr
        assert test.read_text() == "mine"
        assert not (tmp_path / "mine.py").exists()

    @pytest.mark.parametrize(
        "name",
        ["", "1st", "../x", "a/b", "ü", "x" * 61, "a--b", "class", "json", "pytest", "no-loops"],
    )
    def test_a_name_that_cannot_be_is_refused(self, name: str, tmp_path: Path) -> None:
        result = run("add", "evaluator", name, "--dir", str(tmp_path))
        assert result.exit_code == 2
        assert "such as" in result.stderr
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["cites-sources", "cites_sources", "CitesSources"])
    def test_a_name_may_be_written_as_one_likes(self, name: str, tmp_path: Path) -> None:
        assert run("add", "evaluator", name, "--dir", str(tmp_path)).exit_code == 0
        assert '@evaluator("cites-sources")' in (tmp_path / "cites_sources.py").read_text()

    def test_an_unknown_style_is_refused(self, tmp_path: Path) -> None:
        result = run("add", "evaluator", "x", "--style", "java", "--dir", str(tmp_path))
        assert result.exit_code == 2
        assert "agentprobe" in result.stderr

    def test_the_next_steps_are_printed(self, tmp_path: Path) -> None:
        result = run("add", "evaluator", "mine", "--dir", str(tmp_path))
        assert "tracejury register evaluator" in result.stdout
        assert "python -m pytest" in result.stdout


class TestRegister:
    """`tracejury register evaluator`."""

    def test_a_type_and_a_config_are_written_and_the_config_works(self, tmp_path: Path) -> None:
        run("add", "evaluator", "cites-sources", "--style", "class", "--dir", str(tmp_path))
        made = tmp_path / "cites_sources.py"
        result = run("register", "evaluator", str(made))
        assert result.exit_code == 0, result.output
        types = json.loads((tmp_path / "types" / "cites-sources-types.json").read_bytes())
        assert types["type"] == "cites-sources"
        assert types["file"] == "file://cites_sources.py:CitesSources"
        assert types["config_schema"]["properties"]["threshold"]["default"] == 1.0
        assert types["criteria_schema"]["properties"]["expected"]
        config = tmp_path / "cites-sources.json"
        trace = tmp_path / "trace.json"
        trace.write_bytes(dump_trace(make_trace()))
        case = '{"expected": ["Paris"]}'
        base = ["--trace", str(trace), "--config-file", str(config), "--criteria", case]
        (one,) = tried(*base, "--evaluator", "cites-sources")["results"]
        assert (one["verdict"], one["fingerprint"]) == ("pass", types["fingerprint"])

    def test_a_file_in_the_folder_of_uipath_gets_the_files_of_uipath(self, tmp_path: Path) -> None:
        base = ["add", "evaluator", "my-custom", "--style", "uipath", "--dir", str(tmp_path)]
        assert run(*base).exit_code == 0
        folder = tmp_path / "evals" / "evaluators"
        result = run("register", "evaluator", str(folder / "custom" / "my_custom.py"))
        assert result.exit_code == 0, result.output
        config = json.loads((folder / "my-custom.json").read_bytes())
        assert config["id"] == "MyCustom"
        assert config["evaluatorTypeId"] == "file://types/my-custom-types.json"
        assert config["evaluatorSchema"] == "file://my_custom.py:MyCustom"
        assert config["evaluatorConfig"] == {"name": "MyCustom", "caseSensitive": True}
        assert (folder / "custom" / "types" / "my-custom-types.json").is_file()

    def test_a_config_that_is_there_is_kept(self, tmp_path: Path) -> None:
        run("add", "evaluator", "mine", "--dir", str(tmp_path))
        config = tmp_path / "mine.json"
        config.write_text('{"plugins": []}')
        result = run("register", "evaluator", str(tmp_path / "mine.py"), "--json")
        (one,) = json.loads(result.stdout)["evaluators"]
        assert one["kept"] == str(config)
        assert config.read_text() == '{"plugins": []}'

    def test_one_that_breaks_the_protocol_is_1_and_writes_nothing(self, tmp_path: Path) -> None:
        bad = tmp_path / "bad.py"
        bad.write_text(
            "from tracejury import Trace, evaluator\n"
            '@evaluator("bad")\n'
            "def bad(trace: Trace) -> bool:\n"
            "    return bool(trace.tool_calls[0].name)\n"
        )
        result = run("register", "evaluator", str(bad))
        assert result.exit_code == 1
        assert "it broke with IndexError" in result.stdout
        assert [path.name for path in tmp_path.iterdir() if path.suffix != ""] == ["bad.py"]

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("x = 1\n", "no evaluator"),
            ("import gone_module\n", "gone_module"),
            ("class MyEvaluator:\n    def evaluate(self): ...\n", "does not inherit"),
            ("import os; os._exit(3)\n", "exit code 3"),
        ],
    )
    def test_a_file_that_cannot_be_used_is_named_with_the_remedy(
        self, source: str, said: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "odd.py"
        path.write_text(source)
        result = run("register", "evaluator", str(path))
        assert (result.exit_code, result.stdout) == (2, "")
        assert "odd.py" in result.stderr
        assert said in result.stderr
        assert result.stderr.count("\n") == 1

    def test_what_is_no_python_file_is_refused(self, tmp_path: Path) -> None:
        result = run("register", "evaluator", str(tmp_path / "gone.py"))
        assert result.exit_code == 2
        assert "no Python file" in result.stderr
