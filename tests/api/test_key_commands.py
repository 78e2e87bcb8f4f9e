"""tracejury keys: they work on the file, and a key is shown once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.docs import DOCS
from tracejury import services
from tracejury.cli import app
from tracejury_collector.keys.file import read_keys


@pytest.fixture(autouse=True)
def entry_points_of_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the commands that pyproject.toml names, whichever version is installed."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]
    named = project["entry-points"][services.GROUP]

    def found(group: str, name: str) -> Iterator[EntryPoint]:
        return (EntryPoint(n, value, group) for n, value in named.items() if n == name)

    monkeypatch.setattr(services, "entry_points", found)


def run(*args: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["keys", *args])


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "keys")


def test_a_key_is_shown_once_alone_on_stdout(file: str) -> None:
    result = run("create", "--name", "ci", "--scope", "read", "--file", file)
    assert result.exit_code == 0, result.output
    secret = result.stdout.strip()
    assert secret.startswith("tj_")
    assert secret not in result.stderr
    assert "once" in result.stderr
    for args in (["list"], ["list", "--json"]):
        shown = run(*args, "--file", file).output
        assert "ci" in shown
        assert secret not in shown
        assert secret.rpartition("_")[2] not in Path(file).read_text()


def test_a_key_is_made_as_it_was_asked_for(file: str) -> None:
    args = ["--scope", "write", "--scope", "ingest", "--project", "booking", "--expires", "90d"]
    made = json.loads(run("create", "--name", "x", *args, "--json", "--file", file).stdout)
    (key,) = read_keys(Path(file))
    assert made["key"].startswith(f"tj_{key.id}_")
    assert key.scopes == ("ingest", "write")
    assert key.project == "booking"
    assert key.expires_at is not None
    assert (key.expires_at - key.created_at).days == 90
    assert made["state"] == "active"
    assert "sha256" not in made


def test_the_file_stands_beside_the_database_of_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "tracejury.yaml"
    config.write_text(f"storage: {tmp_path}/x.duckdb\n")
    assert run("create", "--name", "a", "--scope", "admin", "-c", str(config)).exit_code == 0
    assert len(read_keys(tmp_path / "x.duckdb.keys")) == 1


def test_a_key_is_revoked_by_its_id_or_name_and_stays_in_the_list(file: str) -> None:
    ids = []
    for name in ("a", "b"):
        args = ["--name", name, "--scope", "read", "--json", "--file", file]
        ids.append(json.loads(run("create", *args).stdout)["id"])
    assert run("revoke", ids[0], "--file", file).exit_code == 0
    assert run("revoke", "b", "--file", file).exit_code == 0
    items = json.loads(run("list", "--json", "--file", file).stdout)["items"]
    assert [item["state"] for item in items] == ["revoked", "revoked"]
    again = run("revoke", "b", "--file", file)
    assert (again.exit_code, "revoked already" in again.stderr) == (2, True)
    assert run("create", "--name", "b", "--scope", "read", "--file", file).exit_code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["create", "--name", "a", "--scope", "root"], "no scope is named 'root'"),
        (["create", "--name", "a", "--scope", "admin", "--project", "p"], "leave the project out"),
        (["create", "--name", "a", "--scope", "read", "--expires", "soon"], "90d"),
        (["create", "--name", "a", "--scope", "read", "--expires", "99999999999d"], "90d"),
        (["create", "--name", "a", "--scope", "read", "--expires", "0"], "90d"),
        (["create", "--name", "a\nb", "--scope", "read"], "--name"),
        (["create", "--name", "", "--scope", "read"], "--name"),
        (["create", "--name", "taken", "--scope", "read"], "another name"),
        (["revoke", "nobody"], "no key has the id or name 'nobody'"),
    ],
)
def test_wrong_use_is_told_with_the_remedy(file: str, args: list[str], words: str) -> None:
    assert run("create", "--name", "taken", "--scope", "read", "--file", file).exit_code == 0
    result = run(*args, "--file", file)
    assert (result.exit_code, words in result.stderr) == (2, True), result.stderr


def test_a_folder_that_is_not_there_is_named() -> None:
    result = run("create", "--name", "a", "--scope", "read", "--file", "/nowhere/at/all/keys")
    assert result.exit_code == 2
    assert "'/nowhere/at/all'" in result.stderr


def test_without_keys_the_list_says_what_that_means(file: str) -> None:
    assert "whoever reaches the service" in run("list", "--file", file).stdout
