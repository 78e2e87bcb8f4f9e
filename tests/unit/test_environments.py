"""What each process is given of the service's environment."""

from __future__ import annotations

import pytest

from tracejury_collector.config import parse_config
from tracejury_collector.environments import Role, environment_of
from tracejury_collector.forking import plain

ENVIRON = {
    "PATH": "/bin",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": "/src",
    "PYTHON_TOKEN": "secret",
    "OPENAI_API_KEY": "secret",
    "TRACEJURY_JUDGE_MODEL": "openai:m",
    "TRACEJURY_JUDGE_KEY_LAB": "secret",
    "TRACEJURY_API_KEY": "secret",
    "https_proxy": "http://user:secret@proxy",
    "SCRIPT_TOKEN": "secret",
    "MEMBER_TOKEN": "secret",
    "PLUGIN_TOKEN": "secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
PLAIN = {"PATH", "LC_ALL", "PYTHONPATH"}
NAMED = {"SCRIPT_TOKEN", "MEMBER_TOKEN", "PLUGIN_TOKEN"}
JUDGES = {"OPENAI_API_KEY", "TRACEJURY_JUDGE_MODEL", "TRACEJURY_JUDGE_KEY_LAB", "https_proxy"}
CONFIG = parse_config(
    {
        "jury": {"env": ["PLUGIN_TOKEN", "NOT_SET"]},
        "evaluators": {
            "script": {"type": "process", "config": {"script": "x", "env": ["SCRIPT_TOKEN"]}},
            "both": {
                "type": "all-of",
                "config": {
                    "members": [
                        {"type": "process", "config": {"script": "x", "env": ["MEMBER_TOKEN"]}}
                    ]
                },
            },
        },
    }
)


@pytest.mark.parametrize(
    ("role", "found"),
    [
        ("receiver", PLAIN),
        ("assembler", PLAIN),
        ("jury", PLAIN | {"PLUGIN_TOKEN"}),
        ("judge", PLAIN | NAMED | JUDGES),
        ("store", PLAIN | NAMED | JUDGES),
    ],
)
def test_a_process_is_given_what_its_role_needs(role: Role, found: set[str]) -> None:
    given = environment_of(role, CONFIG, ENVIRON)
    assert set(given) == found
    assert given == {name: ENVIRON[name] for name in found}


def test_what_every_process_starts_with_holds_no_secret() -> None:
    assert set(plain(ENVIRON)) == PLAIN
