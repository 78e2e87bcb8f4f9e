"""Which model is asked where, and which key may go there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tracejury.errors import DefinitionError
from tracejury_evaluators.endpoint import JudgeEndpoint, active_endpoint, resolve, use_endpoint
from tracejury_evaluators.judge import installed
from tracejury_evaluators.registry import built_in_registry

KEY = "sk-configured-0123456789"
CONFIGURED = JudgeEndpoint(
    model="openai:gpt-5-mini", base_url="https://llm.example.com/v1", api_key=KEY
)
NOWHERE: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    yield
    use_endpoint(None)


def test_an_evaluator_without_settings_asks_the_configured_model() -> None:
    access = resolve(None, configured=CONFIGURED, environ=NOWHERE)
    assert (access.name, access.base_url) == ("openai:gpt-5-mini", "https://llm.example.com/v1")
    assert access.api_key == KEY


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example.com/v1",
        "https://llm.example.com:8443/v1",
        "https://llm.example.com.evil.com/v1",
        "https://xllm.example.com/v1",
        "http://127.0.0.1:8000/v1",
    ],
)
def test_the_configured_key_goes_to_no_other_host(elsewhere: str) -> None:
    environ = {"OPENAI_API_KEY": "sk-usual", "TRACEJURY_JUDGE_API_KEY": "sk-env"}
    assert resolve(None, elsewhere, configured=CONFIGURED, environ=environ).api_key == ""


def test_another_path_on_the_configured_host_gets_the_key() -> None:
    access = resolve(None, "https://LLM.example.com:443/v2", configured=CONFIGURED, environ=NOWHERE)
    assert access.api_key == KEY


def test_a_key_for_an_own_host_comes_from_a_variable_meant_for_it() -> None:
    environ = {"TRACEJURY_JUDGE_KEY_LAB": "sk-lab"}
    access = resolve(
        "openai:llama",
        "https://lab.example.com/v1",
        "TRACEJURY_JUDGE_KEY_LAB",
        configured=CONFIGURED,
        environ=environ,
    )
    assert access.api_key == "sk-lab"


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HOME"])
def test_no_other_variable_can_be_sent_away(variable: str) -> None:
    with pytest.raises(ValueError, match="does not begin with TRACEJURY_JUDGE_KEY_"):
        resolve("openai:m", "https://evil.example.com", variable, environ={variable: "secret"})


def test_a_variable_without_a_key_is_named() -> None:
    with pytest.raises(ValueError, match="'TRACEJURY_JUDGE_KEY_X' is not set"):
        resolve(None, None, "TRACEJURY_JUDGE_KEY_X", configured=CONFIGURED, environ=NOWHERE)


@pytest.mark.parametrize(
    ("model", "environ", "url", "key"),
    [
        ("openai:gpt", {"OPENAI_API_KEY": "a"}, "https://api.openai.com/v1", "a"),
        (
            "openai:gpt",
            {"OPENAI_API_KEY": "a", "OPENAI_BASE_URL": "https://proxy.example.com/v1/"},
            "https://proxy.example.com/v1",
            "a",
        ),
        ("anthropic:claude", {"ANTHROPIC_API_KEY": "b"}, "https://api.anthropic.com", "b"),
        (
            "google:gemini",
            {"GEMINI_API_KEY": "c"},
            "https://generativelanguage.googleapis.com",
            "c",
        ),
        ("google:gemini", {"OPENAI_API_KEY": "a"}, "https://generativelanguage.googleapis.com", ""),
    ],
)
def test_without_a_configured_endpoint_the_usual_variables_count(
    model: str, environ: dict[str, str], url: str, key: str
) -> None:
    access = resolve(model, environ=environ)
    assert (access.base_url, access.api_key) == (url, key)


def test_a_model_of_another_provider_does_not_get_the_configured_key() -> None:
    access = resolve("anthropic:claude-sonnet-5", configured=CONFIGURED, environ=NOWHERE)
    assert (access.base_url, access.api_key) == ("https://api.anthropic.com", "")


def test_url_and_key_are_taken_from_one_place() -> None:
    use_endpoint(JudgeEndpoint(model="openai:gpt", base_url="https://own.example.com/v1"))
    environ = {"TRACEJURY_JUDGE_API_KEY": "sk-env", "TRACEJURY_JUDGE_BASE_URL": "https://env.com"}
    assert active_endpoint(environ).api_key == ""
    use_endpoint(None)
    assert active_endpoint(environ).api_key == "sk-env"


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (JudgeEndpoint(), "no judge model is configured"),
        (JudgeEndpoint(model="gpt-5-mini"), "is not written PROVIDER:MODEL"),
        (JudgeEndpoint(model="opneai:gpt"), "did you mean 'openai'"),
        (JudgeEndpoint(model="openai: "), "is not written PROVIDER:MODEL"),
        (JudgeEndpoint(model="openai:m", base_url="llm.example.com"), "base_url is no URL"),
        (JudgeEndpoint(model="openai:m", base_url="ftp://x/"), "base_url is no URL"),
        (JudgeEndpoint(model="openai:m", base_url="https://x:99999/"), "base_url is no URL"),
        (JudgeEndpoint(model="openai:m", base_url="https://u:p@x/"), "give the key as api_key"),
        (JudgeEndpoint(model="openai:m", base_url="https://x/?key=1"), "give the key as api_key"),
        (JudgeEndpoint(model="openai:m", base_url="http://x/v1", api_key=KEY), "use https://"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_refused_without_its_key(
    endpoint: JudgeEndpoint, words: str
) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        resolve(None, configured=endpoint, environ=NOWHERE)
    assert KEY not in str(caught.value)
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8"])
def test_a_key_may_go_to_this_machine_in_the_clear(host: str) -> None:
    endpoint = JudgeEndpoint(model="openai:m", base_url=f"http://{host}:8000/v1", api_key=KEY)
    assert resolve(None, configured=endpoint, environ=NOWHERE).api_key == KEY


def test_no_representation_shows_the_key() -> None:
    assert KEY not in repr(CONFIGURED)
    assert KEY not in repr(resolve(None, configured=CONFIGURED, environ=NOWHERE))


def test_an_evaluator_without_any_model_is_refused_when_it_is_defined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TRACEJURY_JUDGE_MODEL", raising=False)
    with pytest.raises(DefinitionError, match="llm-judge: config: no judge model is configured"):
        built_in_registry().build("llm-judge", {"success_criteria": "x"})


def test_a_library_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed, "_is_there", lambda module: module != "anthropic")
    with pytest.raises(DefinitionError, match=r'pip install "tracejury\[judge-anthropic\]"'):
        built_in_registry().build("llm-relevance", {"model": "anthropic:claude-sonnet-5"})


def test_a_library_is_looked_for_without_loading_it() -> None:
    assert not installed._is_there("no_such_library.part")
    assert installed._is_there("google.genai")
