"""Views as Parquet files, over the API and the command line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.helpers.api import Api, agent_run
from tracejury.cli import app
from tracejury_collector.api import parquet as route
from tracejury_collector.store import parquet as stored
from tracejury_collector.store.sqlallowed import VIEWS


def table(api: Api, view: str, **params: Any) -> pa.Table:
    answer = api.http.get(f"/api/export/{view}.parquet", params=params)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    return pq.read_table(io.BytesIO(answer.content))


def refusal(api: Api, view: str, **params: Any) -> tuple[int, str]:
    answer = api.http.get(f"/api/export/{view}.parquet", params=params)
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["detail"]


@pytest.fixture
def filled(api: Api) -> Api:
    for number in range(1, 6):
        api.store(*agent_run(number))
    api.finish()
    return api


def test_every_view_is_a_file_with_its_columns(filled: Api) -> None:
    for view in sorted(VIEWS):
        with filled.context.db.read() as cursor:
            rows = cursor.execute(f"SELECT * FROM main.{view}").to_arrow_table()
        found = table(filled, view)
        assert (found.column_names, found.num_rows) == (rows.column_names, rows.num_rows), view
    assert table(filled, "spans").num_rows == 10


def test_rows_are_chosen_by_condition_and_time(filled: Api) -> None:
    assert table(filled, "spans", where="kind = 'tool'").num_rows == 5
    assert table(filled, "spans", where="false").num_rows == 0
    assert table(filled, "traces", since="2026-09-21T14:13:23Z").num_rows == 3
    assert table(filled, "traces", until="2026-09-21T14:13:23Z").num_rows == 2
    assert set(stored.TIMES) == VIEWS - {"messages", "documents"}


def test_large_answers_come_in_pieces(filled: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "GROUP_ROWS", 3)
    monkeypatch.setattr(stored, "_BATCH_ROWS", 1)
    pieces = list(stored.parquet(filled.context.db, stored.Wanted(view="spans")))
    assert len(pieces) == 5
    file = pq.ParquetFile(io.BytesIO(b"".join(pieces)))
    assert (file.num_row_groups, file.metadata.num_rows) == (4, 10)


def test_what_cannot_be_exported_is_a_problem(shared: Api) -> None:
    assert refusal(shared, "ledger")[0] == 404
    assert refusal(shared, "spans; DROP")[0] == 404
    assert refusal(shared, "messages", since="1h")[0] == 422
    assert refusal(shared, "spans", where="true) UNION SELECT (1")[0] in (400, 422)
    assert refusal(shared, "spans", where="read_text('/etc/passwd') = ''")[0] in (400, 422)
    assert refusal(shared, "spans", where="nothing = 1")[0] in (400, 422)
    assert refusal(shared, "spans", since="yesterday")[0] == 400
    assert refusal(shared, "spans", wher="true")[0] == 422


def test_few_run_at_a_time_and_each_leaves_its_place(shared: Api) -> None:
    table(shared, "spans")  # a limiter belongs to the loop in which it is used first
    limiter = shared.http.app.state.export_lane  # type: ignore[attr-defined]
    taken = [object() for _ in range(route.EXPORTS_AT_ONCE)]
    for place in taken:
        limiter.acquire_on_behalf_of_nowait(place)
    assert refusal(shared, "spans")[0] == 503
    for place in taken:
        limiter.release_on_behalf_of(place)
    for _ in range(route.EXPORTS_AT_ONCE + 1):
        table(shared, "spans")
        refusal(shared, "ledger")
    assert limiter.borrowed_tokens == 0


def test_the_command_writes_the_file_whole_or_not_at_all(
    filled: Api, url: str, tmp_path: Path
) -> None:
    file = tmp_path / "tools.parquet"
    asked = ["export", "spans", str(file), "--where", "kind = 'tool'", "--url", url]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert pq.read_table(file).num_rows == 5
    again = CliRunner().invoke(app, asked)
    assert (again.exit_code, "is there already" in again.output) == (2, True)
    other = tmp_path / "other.parquet"
    refused = CliRunner().invoke(app, ["export", "ledger", str(other), "--url", url])
    assert refused.exit_code == 2
    assert "no view is named 'ledger'" in refused.output
    assert [path.name for path in tmp_path.iterdir() if "parquet" in path.name] == [file.name]
