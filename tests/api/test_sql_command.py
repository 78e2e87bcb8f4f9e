"""`tracejury sql`: queries from files and stdin, answers in every format."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from tests.helpers.api import running_api, served
from tracejury.cli import app

QUERY = "SELECT range AS n, 'a' || chr(10) || range AS t, [range] AS l FROM range(3) ORDER BY n"
ROWS = [{"n": n, "t": f"a\n{n}", "l": [n]} for n in range(3)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_api(tmp_path_factory.mktemp("sql")) as api, served(api) as address:
        yield address


def run(url: str, *options: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", *options, "--url", url], input=given)


def test_rows_are_written_in_each_format(url: str) -> None:
    def written(kind: str) -> bytes:
        result = run(url, QUERY, "--format", kind)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout_bytes

    assert written("csv") == b'n,t,l\r\n0,"a\n0",[0]\r\n1,"a\n1",[1]\r\n2,"a\n2",[2]\r\n'
    document = json.loads(written("json"))
    assert [dict(zip("ntl", row, strict=True)) for row in document["rows"]] == ROWS
    assert pa.ipc.open_stream(written("arrow")).read_all().to_pylist() == ROWS
    assert pq.read_table(io.BytesIO(written("parquet"))).to_pylist() == ROWS
    assert b"3 rows in" in written("table")


@pytest.mark.parametrize("kind", ["table", "csv", "json", "arrow", "parquet"])
def test_rows_go_into_a_file_that_is_not_there(url: str, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "rows"
    result = run(url, QUERY, "-f", kind, "-o", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    before = file.read_bytes()
    assert before
    result = run(url, QUERY, "-f", kind, "-o", str(file))
    assert (result.exit_code, str(file) in result.stderr) == (2, True)
    assert file.read_bytes() == before


def test_a_query_comes_from_a_file_or_stdin(url: str, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(QUERY)
    from_file = run(url, f"@{tmp_path}/q.sql", "-f", "csv")
    assert from_file.stdout == run(url, "-", "-f", "csv", given=QUERY).stdout
    missing = run(url, f"@{tmp_path}/none.sql")
    assert (missing.exit_code, "none.sql" in missing.stderr) == (2, True)


def test_that_there_are_more_rows_is_said_beside_the_answer(url: str) -> None:
    result = run(url, QUERY, "-f", "csv", "--limit", "2")
    assert result.stdout_bytes.count(b"\r\n") == 3
    assert "--limit" in result.stderr


def test_a_refused_query_leaves_no_file(url: str, tmp_path: Path) -> None:
    result = run(url, "DROP TABLE spans", "-f", "parquet", "-o", str(tmp_path / "rows"))
    assert result.exit_code == 2
    assert [*tmp_path.iterdir()] == []


def test_two_formats_at_once_are_refused(url: str) -> None:
    assert run(url, QUERY, "--json", "-f", "csv").exit_code == 2
