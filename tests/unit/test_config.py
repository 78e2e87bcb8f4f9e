from __future__ import annotations

from pathlib import Path

import pytest

from tracejury_collector.config import Config, load_config, parse_config, without_jury
from tracejury_collector.errors import ConfigError


def write(directory: Path, text: str) -> Path:
    path = directory / "tracejury.yaml"
    path.write_text(text)
    return path


def test_without_a_file_every_trace_meets_the_default_jury() -> None:
    rules = load_config(None).effective_rules()
    assert list(rules) == ["default"]
    assert rules["default"].sample.rate == 1.0


def test_an_empty_mapping_of_rules_means_no_jury() -> None:
    assert parse_config({"rules": {}}).effective_rules() == {}


@pytest.mark.parametrize(
    ("text", "seconds"), [("300ms", 0.3), ("3s", 3.0), ("2m", 120.0), ("1h", 3600.0), ("7", 7.0)]
)
def test_durations_are_written_with_their_unit(text: str, seconds: float) -> None:
    config = parse_config({"completion": {"after_root": text}})
    assert config.completion.after_root == pytest.approx(seconds)


def test_sizes_are_written_with_their_unit() -> None:
    assert parse_config({"limits": {"request_bytes": "2MiB"}}).limits.request_bytes == 2 << 20


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"storge": "x"}, ["storge", "did you mean 'storage'"]),
        ({"limits": {"reqest_bytes": 1}}, ["limits.reqest_bytes", "request_bytes"]),
        ({"rules": {"a": {"evaluators": ["e"], "whre": "x"}}}, ["rules.a.whre", "'where'"]),
        ({"completion": {"idle": "2 parsecs"}}, ["completion.idle", "'2 parsecs'"]),
        ({"rules": {"a": {"evaluators": ["no-lops"]}}}, ["rules.a", "'no-lops'", "'no-loops'"]),
        ({"rules": {"a": {"evaluators": []}}}, ["rules.a.evaluators"]),
        ({"listen": {"api": "nonsense"}}, ["listen.api", "nonsense"]),
        ({"rules": {"a": {"evaluators": ["no-loops"], "sample": {"rate": 2}}}}, ["rate", "2"]),
    ],
)
def test_a_wrong_setting_is_named_with_its_remedy(
    data: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(data)
    for word in words:
        assert word in str(caught.value)


def test_variables_are_read_from_the_environment(tmp_path: Path) -> None:
    path = write(tmp_path, "storage: ${DIR}/${NAME:-traces}.duckdb\n")
    assert load_config(path, {"DIR": "/data"}).storage == "/data/traces.duckdb"


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'DIR' is not set"):
        load_config(write(tmp_path, "storage: ${DIR}/x\n"), {})


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "\x00"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        load_config(write(tmp_path, text), {})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.yaml"):
        load_config(tmp_path / "no.yaml")


def test_the_configuration_survives_the_way_to_the_children() -> None:
    config = parse_config({"rules": {"a": {"evaluators": ["no-loops"]}}, "storage": "x"})
    assert Config.model_validate_json(config.model_dump_json()) == config


def test_the_judge_is_read_with_its_key_from_the_environment(tmp_path: Path) -> None:
    text = 'judge: {model: "openai:gpt-5-mini", base_url: "${URL:-}", api_key: "${KEY}"}'
    config = load_config(write(tmp_path, text), {"KEY": "sk-0123456789"})
    assert config.judge.endpoint().api_key == "sk-0123456789"
    assert "sk-0123456789" not in repr(config)
    assert Config.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"model": "gpt-5-mini"}, "judge: the model 'gpt-5-mini' is not written PROVIDER:MODEL"),
        ({"api_key": ["sk-0123456789"]}, "judge.api_key: Input should be a valid string"),
        ("sk-0123456789", "judge: "),
        (
            {"model": "openai:m", "base_url": "http://far.example.com", "api_key": "sk-0123456789"},
            "would carry the key in the clear",
        ),
    ],
)
def test_a_judge_that_cannot_be_used_is_refused_without_its_key(judge: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        parse_config({"judge": judge})
    assert "sk-0123456789" not in str(caught.value)


def test_a_process_that_judges_nothing_is_told_no_secret() -> None:
    config = parse_config(
        {
            "judge": {"model": "openai:gpt-5-mini", "api_key": "sk-secret"},
            "evaluators": {"hook": {"type": "webhook", "config": {"headers": {"x": "sk-secret"}}}},
            "limits": {"spans_per_request": 7},
        }
    )
    told = without_jury(config)
    assert "sk-secret" in config.model_dump_json()
    assert "sk-secret" not in told.model_dump_json()
    assert told.limits == config.limits
