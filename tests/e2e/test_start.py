"""A service that cannot start says why in one line, and ends with code 2."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.service import free_ports, running_service

FREE = 'listen: {grpc: "127.0.0.1:0", otlp_http: "127.0.0.1:0", api: "127.0.0.1:0"}\n'
RULE = "evaluators: {e: {type: non-empty-output}}\nrules: {r: {where: %s, evaluators: [e]}}\n"


def last_words(directory: Path, config: str) -> str:
    """Return the last line that a service with this configuration says before it gives up."""
    file = directory / "tracejury.yaml"
    file.write_text(config)
    command = [sys.executable, "-m", "tracejury.cli", "serve", "--config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("config", "fault", "remedy"),
    [
        (RULE % "latncy_ms > 3", "'latncy_ms > 3'", '"latency_ms"'),
        (RULE % '"len(range(100000000)) > 3"', "'range'", "FROM"),
        (
            "evaluators: {x: {type: sql, config: {sql: SELECT trace_id FROM traces}}}",
            "evaluators.x: config.sql:",
            "one of score and passed",
        ),
        ("storage: /proc/nowhere/tracejury.duckdb", "no such directory", "`storage`"),
        ("storage: /proc/tracejury.duckdb", "/proc/tracejury.duckdb", "`storage`"),
    ],
)
def test_what_the_store_cannot_use_is_the_last_line(
    tmp_path: Path, config: str, fault: str, remedy: str
) -> None:
    storage = "" if config.startswith("storage") else f"storage: {tmp_path / 'db'}\n"
    line = last_words(tmp_path, f"{FREE}{storage}{config}\n")
    assert "CRITICAL" in line
    assert fault in line
    assert remedy in line


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("evaluators: {x: {type: latency-budgt}}", "evaluators.x: evaluator type 'latency-budgt'"),
        ("evaluators: {x: {type: latency-budget, config: {budget: 3}}}", "mean 'budget_ms'?"),
        ("evaluators: {x: {type: no-loops, criteria: {a: 1}}}", "criteria.a: unknown field"),
        ("evaluators: {x: {type: 'file://chek.py:A'}}", "did you mean 'check.py'?"),
        ("plugins: [./chek.py]", "no file 'chek.py' in "),
        ("plugins: [no_such_package.checks]", "no module is named 'no_such_package'; install it"),
        ("plugins: [./check.py]", "plugin './check.py': importing it ended the process (exit code"),
    ],
)
def test_an_evaluator_that_cannot_be_used_is_the_last_line(
    tmp_path: Path, config: str, words: str
) -> None:
    (tmp_path / "check.py").write_text("import os\nos._exit(3)\n")
    line = last_words(tmp_path, f"{FREE}storage: {tmp_path / 'db'}\n{config}\n")
    assert line.startswith("tracejury: ")
    assert words in line


def test_two_addresses_that_are_the_same_are_refused(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    both = f'"127.0.0.1:{port}"'
    config = f'listen: {{grpc: {both}, otlp_http: {both}, api: "127.0.0.1:0"}}\n'
    assert "listen.grpc too" in last_words(tmp_path, config)


@pytest.mark.parametrize("setting", ["grpc", "otlp_http", "api"])
def test_an_address_that_others_reach_needs_keys(tmp_path: Path, setting: str) -> None:
    config = FREE.replace(f'{setting}: "127.0.0.1:0"', f'{setting}: "0.0.0.0:0"')
    line = last_words(tmp_path, f"{config}storage: {tmp_path / 'db'}\n")
    assert f"listen.{setting}: other machines can reach '0.0.0.0:0'" in line
    assert "tracejury keys create" in line
    assert "keys.open_network" in line


def test_keys_that_cannot_be_read_stop_the_start(tmp_path: Path) -> None:
    (tmp_path / "db.keys").write_text("{")
    (tmp_path / "db.keys").chmod(0o600)
    line = last_words(tmp_path, f"{FREE}storage: {tmp_path / 'db'}\n")
    assert "no file of keys" in line


def test_an_occupied_port_is_named_with_its_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        free = dict.fromkeys(("grpc", "otlp_http"), "127.0.0.1:0")
        line = last_words(tmp_path, f"listen: {json.dumps({**free, 'api': address})}\n")
    assert f"listen.api: cannot listen on {address!r}" in line


def test_a_database_that_another_service_holds_is_refused(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        other = tmp_path / "other"
        other.mkdir()
        line = last_words(other, f"{FREE}storage: {service.database}\n")
        assert "open in another process" in line
        assert service.is_ready()
