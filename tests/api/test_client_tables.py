"""Lists and queries as tables: Arrow, and DataFrames."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import polars
import pyarrow as pa
import pytest

from tests.helpers.api import agent_run, record_result, running_api, served
from tracejury import AsyncClient, Client
from tracejury.client import tables
from tracejury.errors import MissingExtraError
from tracejury.rest import Result, SessionSummary, TraceSummary

NS_UTC = pa.timestamp("ns", "UTC")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_api(tmp_path_factory.mktemp("tables")) as api:
        api.store(*agent_run(1), *agent_run(2))
        api.finish()
        api.store(*agent_run(3, ended=False))
        record_result(api)
        with served(api) as address:
            yield address


def test_a_list_is_a_table_with_the_types_of_its_fields(url: str) -> None:
    with Client(url) as client:
        traces = client.all_traces(limit=2).to_arrow()
        results = client.all_results().to_arrow()
    assert traces.num_rows == 3
    assert traces.schema.field("start_time").type == NS_UTC
    assert traces.schema.field("latency_ms").type == pa.float64()
    assert traces.schema.field("has_error").type == pa.bool_()
    assert traces.schema.field("models").type == pa.list_(pa.string())
    assert traces["latency_ms"].to_pylist() == [None, 1000.0, 1000.0]
    assert results["details"].to_pylist() == ['{"latency_ms":1000}']
    assert results["created_at"].type == NS_UTC
    assert results["score"].to_pylist() == [1.0]


@pytest.mark.parametrize("model", [TraceSummary, SessionSummary, Result])
def test_an_empty_list_has_the_same_columns(
    model: type[TraceSummary | SessionSummary | Result],
) -> None:
    table = tables.arrow_of(model, [])
    assert table.num_rows == 0
    assert table.column_names == list(model.model_fields)
    assert not [field for field in table.schema if pa.types.is_null(field.type)]


def test_times_keep_their_nanoseconds() -> None:
    item = TraceSummary(trace_id="t", status="open", start_time="2026-01-02T03:04:05.123456789Z")
    (value,) = tables.arrow_of(TraceSummary, [item])["start_time"].cast(pa.int64()).to_pylist()
    second = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    assert value == int(second) * 10**9 + 123_456_789


def test_a_query_is_a_table_in_the_types_of_the_database(url: str) -> None:
    query = "SELECT trace_id, span_count, start_time FROM traces WHERE span_count >= ? ORDER BY 1"
    with Client(url) as client:
        answer = client.sql_table(query, [2])
        cut = client.sql_table("SELECT * FROM spans", limit=1)
        whole = client.sql_table("SELECT * FROM scores").to_arrow()
    assert [field.name for field in answer.to_arrow().schema] == [
        "trace_id",
        "span_count",
        "start_time",
    ]
    assert pa.types.is_timestamp(answer.table.schema.field("start_time").type)
    assert (answer.truncated, cut.truncated, cut.table.num_rows) == (False, True, 1)
    assert whole.num_rows == 1


def test_both_clients_make_data_frames(url: str) -> None:
    async def frames() -> list[polars.DataFrame]:
        async with AsyncClient(url) as client:
            answer = await client.sql_table("SELECT service_name FROM traces")
            return [await client.all_traces().to_polars(), answer.to_polars()]

    with Client(url) as client:
        waited = client.all_traces().to_polars()
    awaited, answer = asyncio.run(frames())
    assert waited.equals(awaited)
    assert answer["service_name"].to_list() == ["booking"] * 3


def test_what_is_not_installed_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        tables.pandas_of(pa.table({"a": [1]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"tracejury\[arrow\]"):
        tables.arrow_of(TraceSummary, [])


def test_the_client_is_used_without_pyarrow_and_the_protocol_of_assistants() -> None:
    code = (
        "import sys, tracejury.client, tracejury.cli;"
        "print([m for m in ('pyarrow', 'pandas', 'polars', 'fastmcp', 'mcp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
