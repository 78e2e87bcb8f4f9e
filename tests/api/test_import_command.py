"""`tracejury import` against a real server: files of every form, broken ones, second tries."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from typer.testing import CliRunner, Result

from tests.helpers.api import Api, running_api, served
from tests.helpers.otlp import logs_request_of, make_log, make_span, request_of, to_json
from tests.helpers.service import eventually
from tracejury.cli import app
from tracejury.client import AsyncClient, Client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with running_api(tmp_path_factory.mktemp("import")) as api:
        yield api


@pytest.fixture(scope="module")
def url(shared: Api) -> Iterator[str]:
    with served(shared) as where:
        yield where


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def spans(folder: int, first: int, count: int) -> list[bytes]:
    """Return JSON lines with one span each, of a trace of their own."""
    trace_id = folder.to_bytes(16, "big")
    return [
        json.dumps(to_json(request_of(make_span(n, trace_id=trace_id)))).encode() + b"\n"
        for n in range(first, first + count)
    ]


def stored(api: Api, folder: int) -> int:
    """Return how many rows there are of the trace of `folder`."""
    rows = api.http.post(
        "/api/sql",
        json={"sql": "SELECT count(*) FROM spans WHERE trace_id = ?", "params": [f"{folder:032x}"]},
    )
    count: int = rows.json()["rows"][0][0]
    return count


def run(url: str, *arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(app, ["import", *arguments, "--url", url], input=stdin)


def told(url: str, *arguments: str) -> Any:
    result = run(url, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_folder_of_files_of_every_form_comes_in_once(
    shared: Api, url: str, tmp_path: Path
) -> None:
    lines = spans(1, 1, 6)
    binary = [request_of(make_span(n, trace_id=(1).to_bytes(16, "big"))) for n in (7, 8)]
    messages = [request.SerializeToString() for request in binary]
    messages.append(logs_request_of(make_log(1)).SerializeToString())
    framed = b"".join(len(m).to_bytes(4, "big") + m for m in messages)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b"".join(lines[:2]))
    (tmp_path / "in" / "b.json.gz").write_bytes(gzip.compress(b"".join(lines[2:4])))
    (tmp_path / "in" / "c.jsonl.zst").write_bytes(zstandard.compress(b"".join(lines[4:])))
    (tmp_path / "in" / "d.binpb").write_bytes(framed)
    (tmp_path / "in" / "readme.txt").write_bytes(b"not one of them")
    found = told(url, str(tmp_path / "in"))
    assert [Path(name).name[0] for name in found["files"]] == ["a", "b", "c", "d"]
    assert (found["total"]["stored"], found["total"]["duplicate"]) == (9, 0)
    assert stored(shared, 1) == 8
    again = told(url, str(tmp_path / "in"))
    assert again["total"]["received"] == 0
    anyway = told(url, str(tmp_path / "in"), "--again")
    assert (anyway["total"]["stored"], anyway["total"]["duplicate"]) == (0, 9)


def test_a_file_that_grew_is_gone_on_with(shared: Api, url: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(spans(2, 1, 3)))
    assert told(url, str(path))["total"]["stored"] == 3
    with path.open("ab") as file:
        file.write(b"".join(spans(2, 4, 2)))
    assert told(url, str(path))["total"]["received"] == 2
    assert stored(shared, 2) == 5


def test_broken_lines_cost_themselves_and_are_named_and_the_code_says_so(
    shared: Api, url: str, tmp_path: Path
) -> None:
    path, unreadable = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    path.write_bytes(b"".join([*spans(3, 1, 2), b"{broken\n", *spans(3, 3, 1)]))
    unreadable.write_bytes(gzip.compress(b"".join(spans(3, 4, 50)))[:-200])
    result = run(url, str(path), str(unreadable))
    assert result.exit_code == 1
    assert "line 3: is not JSON" in result.stdout
    assert "1 unreadable" in result.stdout
    assert "cannot be decompressed" in result.stdout
    assert "2 files: " in result.stdout
    assert stored(shared, 3) >= 3


def test_files_without_otlp_are_wrong_use(url: str, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("hello\n")
    result = run(url, str(tmp_path / "notes.jsonl"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "notes.jsonl: the body: is not JSON" in result.stderr
    (tmp_path / "empty").mkdir()
    result = run(url, str(tmp_path / "empty"))
    assert result.exit_code == 2
    assert "no OTLP file lies in" in result.stderr


def test_standard_input_is_read_to_its_end(shared: Api, url: str) -> None:
    content = b"".join(spans(4, 1, 3))
    for form in (content, gzip.compress(content)):
        result = run(url, "-", stdin=form)
        assert result.exit_code == 0, result.output
    assert stored(shared, 4) == 3


def test_a_place_for_journals_that_cannot_be_written_is_told_and_stops_nothing(
    shared: Api, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(spans(5, 1, 1)))
    monkeypatch.setenv("XDG_STATE_HOME", str(path))
    result = run(url, str(path))
    assert result.exit_code == 0
    assert "could not be noted" in result.stderr
    assert stored(shared, 5) == 1


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_import_that_is_broken_off_goes_on_where_it_was(
    shared: Api, url: str, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    folder = 10 + sent
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(spans(folder, 1, 2000)))
    small = "import tracejury.otlp_pieces as p; p.REQUEST_BYTES = 4000; import tracejury.cli as c"
    arguments = ["import", str(path), "--json", "--url", url]
    command = [sys.executable, "-c", f"{small}; c.app()", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        eventually(lambda: stored(shared, folder) > 50, "some of it is stored", timeout_s=60)
        process.send_signal(sent)
        said, complaint = process.communicate(timeout=60)
    assert process.returncode == code, complaint
    assert stored(shared, folder) < 2000
    if sent == signal.SIGINT:
        assert json.loads(said)["interrupted"] is True
    found = told(url, str(path))["total"]
    assert found["received"] <= 1970
    assert found["duplicate"] <= 20  # of the one piece that was stored and not noted
    assert stored(shared, folder) == 2000


def test_the_clients_import_files_too(shared: Api, url: str, tmp_path: Path) -> None:
    import asyncio

    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join([*spans(6, 1, 2), b"{broken\n"]))
    told_bytes: list[int] = []
    with Client(url) as client:
        found = client.import_file(path, progress=told_bytes.append)
    assert (found.stored, found.unreadable, sum(told_bytes)) == (2, 1, path.stat().st_size)

    async def again() -> int:
        async with AsyncClient(url) as client:
            return (await client.import_file(path)).duplicate

    assert asyncio.run(again()) == 2
