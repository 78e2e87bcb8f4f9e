"""What can be checked from outside the service: the installation and a running service.

The service adds its own checks by the entry point `doctor` of the group `tracejury.services`.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import httpx

from tracejury.client import Client
from tracejury.errors import ApiError, UnreachableError
from tracejury.rest import Health

State = Literal["ok", "warning", "failed", "skipped"]
_EXTRAS = {
    "server": ("duckdb", "fastapi", "grpc", "pyarrow", "uvicorn", "yaml"),
    "instrument": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "demo": ("openai", "pydantic_ai"),
}
_EXPORTER_VARIABLES = (
    "OTEL_SDK_DISABLED",
    "OTEL_TRACES_EXPORTER",
    "OTEL_TRACES_SAMPLER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
)
_TEST_SPAN_WAIT_S = 10.0
_NOT_ALLOWED = (401, 403)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding; `remedy` is set where something is to be done."""

    name: str
    state: State
    detail: str
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON data."""
        return asdict(self)


def run_checks(url: str | None, config: Path | None) -> list[Check]:
    """Return every finding about the installation and the service at `url`."""
    return [*_installation(), *_exporter(), *_service(config), *_running(url)]


def _installation() -> Iterator[Check]:
    python = ".".join(map(str, sys.version_info[:3]))
    supported = sys.version_info >= (3, 11)
    yield Check(
        name="python",
        state="ok" if supported else "failed",
        detail=python,
        remedy="" if supported else "install Python 3.11 or later",
    )
    try:
        code = "compiled" if is_compiled() else "plain Python (compiled takes a quarter less time)"
        yield Check(name="tracejury", state="ok", detail=f"{version('tracejury')}, {code}")
    except PackageNotFoundError:
        yield Check(
            name="tracejury",
            state="failed",
            detail="no installed package",
            remedy="pip install tracejury",
        )
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if not _installed(module)]
        yield Check(
            name=f"extra {extra}",
            state="skipped" if missing else "ok",
            detail=f"not installed ({', '.join(missing)})" if missing else "installed",
            remedy=f"pip install 'tracejury[{extra}]', if it is wanted here" if missing else "",
        )


def is_compiled() -> bool:
    """Say whether the modules that work span by span are machine code here."""
    found = find_spec("tracejury.assemble")
    return found is not None and not str(found.origin).endswith(".py")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _exporter() -> Iterator[Check]:
    """Report the environment variables that steer this shell's OTLP exporters."""
    found = {name: os.environ[name] for name in _EXPORTER_VARIABLES if os.environ.get(name)}
    shown = ", ".join(f"{name}={_without_secret(value)}" for name, value in found.items())
    if found.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield Check(
            name="exporter",
            state="warning",
            detail=shown,
            remedy="agents started here send nothing: unset OTEL_SDK_DISABLED",
        )
    elif not found:
        yield Check(
            name="exporter",
            state="ok",
            detail="no OTEL_ variables: exporters send to localhost, ports 4317 and 4318",
        )
    else:
        yield Check(name="exporter", state="ok", detail=shown)


def _without_secret(value: str) -> str:
    """Return a URL without its user information."""
    scheme, separator, rest = value.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if separator else value


def _service(config: Path | None) -> Iterator[Check]:
    """Yield the checks that the installed service adds."""
    for entry in entry_points(group="tracejury.services", name="doctor"):
        try:
            checks = entry.load()
        except ImportError:
            if config is not None:
                yield Check(
                    name="configuration",
                    state="warning",
                    detail=f"{config} was not checked: the service is not installed here",
                    remedy="pip install 'tracejury[server]'",
                )
            continue
        yield from checks(config)


def _running(url: str | None) -> Iterator[Check]:
    with Client(url, timeout_s=5.0) as client:
        try:
            health = client.health()
        except (UnreachableError, ApiError) as error:
            found = str(error).partition(";")[0]
            yield Check(
                name="service",
                state="warning",
                detail=found if client.url in found else f"not ready at {client.url}: {found}",
                remedy="start it with 'tracejury serve', or name it with --url",
            )
            return
        detail = f"{health.version} answers at {client.url}, up for {health.uptime_s:.0f} s"
        yield Check(name="service", state="ok", detail=detail)
        yield _test_span(client, health)
        yield _dialects(client)


def _dialects(client: Client) -> Check:
    """Say which dialects are seen, and whether there is something that none of them reads."""
    try:
        report = client.dialects(unread=0)
    except (UnreachableError, ApiError) as error:
        return Check(name="dialects", state="skipped", detail=f"could not be asked for: {error}")
    seen = ", ".join(f"{d.name} {d.spans}" for d in report.dialects if d.spans) or "none seen yet"
    unread = report.unread_count
    return Check(
        name="dialects",
        state="warning" if unread else "ok",
        detail=f"{seen}; {unread} attributes look like GenAI content and are read by no rule",
        remedy="'tracejury dialects' lists them; docs/custom-dialects.md says how to read them"
        if unread
        else "",
    )


def _test_span(client: Client, health: Health) -> Check:
    """Send one span through the OTLP port and look for its trace in the API."""
    endpoint = _reachable(health.listen.get("otlp_http", "127.0.0.1:4318"), client.url)
    trace_id, started_s = secrets.token_hex(16), time.monotonic()
    try:
        sent = httpx.post(
            f"http://{endpoint}/v1/traces",
            json=_request(trace_id),
            headers=_own_key(),
            timeout=10.0,
            trust_env=False,
        )
        if sent.status_code in _NOT_ALLOWED:
            return _not_for_this_key(endpoint)
        sent.raise_for_status()
        while time.monotonic() - started_s < _TEST_SPAN_WAIT_S:
            if _is_known(client, trace_id):
                took_ms = (time.monotonic() - started_s) * 1e3
                detail = f"sent to {endpoint}, queryable as {trace_id} after {took_ms:.0f} ms"
                return Check(name="test span", state="ok", detail=detail)
            time.sleep(0.05)
    except (httpx.HTTPError, UnreachableError, ApiError) as error:
        return Check(
            name="test span",
            state="failed",
            detail=f"could not be sent to {endpoint}: {error}",
            remedy="check listen.otlp_http of the configuration, and the log of the service",
        )
    return Check(
        name="test span",
        state="failed",
        detail=f"was accepted at {endpoint}, but its trace {trace_id} cannot be read",
        remedy="check that --url and the OTLP port belong to the same service; read its log",
    )


def _own_key() -> dict[str, str]:
    key = os.environ.get("TRACEJURY_API_KEY", "").strip()
    return {"x-api-key": key} if key else {}


def _not_for_this_key(endpoint: str) -> Check:
    return Check(
        name="test span",
        state="skipped",
        detail=f"{endpoint} takes no spans of this key",
        remedy="set TRACEJURY_API_KEY to a key with the scopes ingest and read to try it",
    )


def _reachable(address: str, url: str) -> str:
    """Return the address, a wildcard host replaced by the host of `url`."""
    host, _, port = address.rpartition(":")
    return f"{httpx.URL(url).host}:{port}" if host in ("0.0.0.0", "[::]") else address


def _is_known(client: Client, trace_id: str) -> bool:
    try:
        client.trace(trace_id)
    except ApiError as error:
        if error.status != 404:
            raise
        return False
    return True


def _request(trace_id: str) -> dict[str, Any]:
    now_ns = time.time_ns()
    span = {
        "traceId": trace_id,
        "spanId": secrets.token_hex(8),
        "name": "tracejury doctor",
        "kind": 1,
        "startTimeUnixNano": str(now_ns - 1_000_000),
        "endTimeUnixNano": str(now_ns),
    }
    service = {"key": "service.name", "value": {"stringValue": "tracejury-doctor"}}
    scope = {"scope": {"name": "tracejury.doctor"}, "spans": [span]}
    return {"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [scope]}]}
