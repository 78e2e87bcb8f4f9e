"""What `deploy/` holds fits to the service: files parse, names and ports are those of the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path
from typing import Any, get_args

import click
import pytest
import typer.main
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.helpers.api import Api, agent_run, running_api
from tracejury.cli import app
from tracejury_collector.api.measures import service_metrics
from tracejury_collector.config import Config, load_config
from tracejury_collector.planning import JURY_DRAIN_S, RECEIVER_DRAIN_S, STORE_DRAIN_S
from tracejury_collector.rules.model import DecisionOutcome
from tracejury_collector.status import CANNOT_START

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = {path.name: yaml.safe_load(path.read_text()) for path in DEPLOY.glob("compose*.yaml")}
COLLECTORS = {p.name: yaml.safe_load(p.read_text()) for p in DEPLOY.glob("collector/*.yaml")}
DASHBOARD = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
ALERTS = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())
DRAIN_S = RECEIVER_DRAIN_S + JURY_DRAIN_S + STORE_DRAIN_S
PORTS = {address.rpartition(":")[2] for address in Config().listen.addresses().values()}


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile: (name, arguments)."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Containerfile").read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def of(name: str) -> list[str]:
    return [rest for found, rest in instructions() if found == name]


def check_command(words: list[str]) -> None:
    """Check that `tracejury WORDS` is a command with such options."""
    command: Any = typer.main.get_command(app)
    while isinstance(command, click.Group) or hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def unit() -> RawConfigParser:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "systemd/tracejury.service")
    return parser


# --- container ---


def test_the_image_is_built_from_what_the_package_needs() -> None:
    sources = [word for rest in of("COPY") if "--from" not in rest for word in rest.split()[:-1]]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    packaging = (ROOT / "pyproject.toml").read_text()
    needed = re.findall(r'packages = \["(\w+)/.*?"(\w+)/.*?"(\w+)/', packaging)[0]
    assert {*needed, "docs/evaluators", "pyproject.toml", "README.md", "LICENSE"} <= {*sources}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {*sources} == {line[1:] for line in ignored if line.startswith("!")}


def test_the_image_runs_a_real_command_as_nobody_special() -> None:
    assert of("ENTRYPOINT") == ['["tracejury"]']
    (command,) = of("CMD")
    check_command(json.loads(command))
    assert [int(part) > 0 for part in of("USER")[-1].split(":")] == [True, True]
    assert {*of("EXPOSE")[0].split()} == PORTS
    bases = of("FROM")
    assert len(bases) == 2
    assert all("slim" in base and "latest" not in base for base in bases)


def test_the_health_of_the_image_is_asked_where_no_key_is_needed() -> None:
    (health,) = of("HEALTHCHECK")
    code = json.loads(health.partition("CMD ")[2])[-1]
    compile(code, "Containerfile", "exec")
    assert "http://127.0.0.1:4319/healthz" in code


def test_the_image_keeps_everything_in_its_volume() -> None:
    config = load_config(DEPLOY / "tracejury.yaml")
    assert of("VOLUME") == [str(Path(config.storage).parent)] == [str(config.key_file().parent)]
    assert "0.0.0.0" in config.listen.api
    assert {address.rpartition(":")[2] for address in config.listen.addresses().values()} == PORTS


@pytest.mark.parametrize("name", sorted(COMPOSE))
def test_compose_confines_the_service(name: str) -> None:
    service = COMPOSE[name]["services"]["tracejury"]
    alone = COMPOSE["compose.yaml"]["services"]["tracejury"]
    assert {**service, "ports": []} == {**alone, "ports": []}
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert float(service["stop_grace_period"].removesuffix("s")) > DRAIN_S
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    published = [p for each in COMPOSE[name]["services"].values() for p in each["ports"]]
    assert sorted(published) == [f"127.0.0.1:{port}:{port}" for port in sorted(PORTS)]
    volumes = [v for each in COMPOSE[name]["services"].values() for v in each["volumes"]]
    named = {v.partition(":")[0] for v in volumes if not v.startswith(".")}
    assert named == {*COMPOSE[name]["volumes"]}
    files = [v.partition(":")[0] for v in volumes if v.startswith(".")]
    assert [file for file in files if not (DEPLOY / file).exists()] == []


@pytest.mark.parametrize("path", [*DEPLOY.glob("*.yaml"), *DEPLOY.glob("Containerfile")], ids=str)
def test_the_comments_name_real_commands(path: Path) -> None:
    found = re.findall(r"tracejury (keys create .*|serve .*|import)$", path.read_text(), re.M)
    for words in found:
        check_command(words.rstrip('"]').split())
    key_file = str(load_config(DEPLOY / "tracejury.yaml").key_file())
    assert all(key_file in words for words in found if "--file" in words)


# --- systemd ---


def test_the_unit_starts_a_real_command_and_lets_it_drain() -> None:
    service = unit()["Service"]
    program, *words = service["ExecStart"].split()
    assert program == "/opt/tracejury/bin/tracejury"
    check_command(words)
    assert service["KillMode"] == "mixed", "the supervisor drains its children in their order"
    assert float(service["TimeoutStopSec"].removesuffix("s")) > DRAIN_S
    assert service["RestartPreventExitStatus"] == str(CANNOT_START)
    storage = Path(load_config(DEPLOY / "systemd/tracejury.yaml").storage)
    assert storage.parent == Path("/var/lib", service["StateDirectory"])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_knows_every_line_of_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd/tracejury.service").read_text()
    file = tmp_path / "tracejury.service"
    file.write_text(text.replace("/opt/tracejury/bin/tracejury", shutil.which("true") or ""))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(file)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- collector ---


@pytest.mark.parametrize("name", sorted(COLLECTORS))
def test_collectors_use_what_they_define(name: str) -> None:
    config = COLLECTORS[name]
    for pipeline in config["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert {*pipeline[kind]} <= {*config[kind]}
    used = {n for p in config["service"]["pipelines"].values() for n in p["exporters"]}
    assert used == {*config["exporters"]}
    assert {*config["service"].get("extensions", [])} == {*config.get("extensions", {})}


@pytest.mark.parametrize("name", ["forward.yaml", "tee.yaml"])
def test_collectors_send_with_a_key_and_wait_longer_than_the_service_does(name: str) -> None:
    exporter = COLLECTORS[name]["exporters"]["otlp_http/tracejury"]
    assert exporter["headers"] == {"x-api-key": "${env:TRACEJURY_INGEST_KEY}"}
    limits = Config().limits
    assert float(exporter["timeout"].removesuffix("s")) > limits.wait + limits.commit
    assert exporter["sending_queue"]["batch"]["max_size"] <= limits.spans_per_request
    assert "metrics" not in COLLECTORS["forward.yaml"]["service"]["pipelines"]


def test_the_collector_beside_the_service_sends_to_its_port() -> None:
    services = COMPOSE["compose.collector.yaml"]["services"]
    http = load_config(DEPLOY / "tracejury.yaml").listen.otlp_http.rpartition(":")[2]
    environment = services["collector"]["environment"]
    assert environment["TRACEJURY_ENDPOINT"] == f"http://tracejury:{http}"
    needed = set(re.findall(r"\$\{env:(\w+)", (DEPLOY / "collector/forward.yaml").read_text()))
    assert needed == {*environment}
    storage = COLLECTORS["forward.yaml"]["extensions"]["file_storage"]["directory"]
    assert f"queue:{storage}" in services["collector"]["volumes"]
    receivers = COLLECTORS["forward.yaml"]["receivers"]["otlp"]["protocols"].values()
    ports = {receiver["endpoint"].rpartition(":")[2] for receiver in receivers}
    assert ports == {port.rpartition(":")[2] for port in services["collector"]["ports"]}


# --- metrics ---


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, set[str]]]:
    """Series by name: their labels, and the values of those that were seen."""
    with running_api(tmp_path_factory.mktemp("deploy")) as api:
        api.store(*agent_run(1))
        api.finish()
        api.appender.account("spans", rejected=1, shed=1, shed_requests=1).result(10)
        api.get("/api/traces")
        return _series(api)


def _series(api: Api) -> dict[str, dict[str, set[str]]]:
    series: dict[str, dict[str, set[str]]] = {}
    for family in service_metrics(api.context):
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = getattr(family, "_labelnames", ())  # no sample may tell them yet
        series[name] = {label: set() for label in labels}
    for family in text_string_to_metric_families(api.http.get("/metrics").text):
        for sample in family.samples:
            found = series.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                found.setdefault(label, set()).add(value)
    return series


def queries() -> Iterator[tuple[str, str]]:
    """Yield the queries of the dashboard and of the alerts, with where they stand."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for annotation in DASHBOARD["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


SCRAPE = {"job", "instance"}
KNOWN = {"outcome": {*get_args(DecisionOutcome), "score", "skip", "failure"}}


@pytest.mark.parametrize(("place", "query"), list(queries()))
def test_queries_ask_for_series_that_are_exported(
    place: str, query: str, exported: dict[str, dict[str, set[str]]]
) -> None:
    names = re.findall(r"\b(?:tracejury|process)_\w+|\bup\b", query)
    assert names, place
    known: dict[str, set[str]] = {label: set() for label in SCRAPE}
    for name in names:
        assert name == "up" or name in exported, f"{place}: {name}"
        known |= exported.get(name, {})
    grouped = re.findall(r"by \(([^)]*)\)", query)
    assert {label.strip() for part in grouped for label in part.split(",")} <= {*known}
    for matcher in re.findall(r"\{([^}]*)\}", query):
        for label, how, value in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', matcher):
            assert label in known, f"{place}: {label}"
            if label not in SCRAPE and how != "=~":
                assert value in known[label] | KNOWN.get(label, set()), f"{place}: {value}"


def test_legends_and_messages_use_labels_that_queries_leave() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            grouped = re.findall(r"by \(([^)]*)\)", target["expr"])
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]) if grouped else ():
                assert label in re.split(r",\s*", grouped[-1]), panel["title"]


def test_panels_neither_overlap_nor_share_an_id() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len({*cells})
    assert max(x for x, _ in cells) < 24


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs Prometheus' promtool")
@pytest.mark.parametrize(
    "words",
    [
        ["check", "rules", "alerts.yaml"],
        ["check", "config", "--syntax-only", "prometheus.yaml"],
        ["test", "rules", "alerts_test.yaml"],
    ],
    ids=" ".join,
)
def test_prometheus_takes_the_alerts_and_they_fire(words: list[str]) -> None:
    done = subprocess.run(
        ["promtool", *words],
        cwd=DEPLOY / "prometheus",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_says_what_to_do() -> None:
    page = (ROOT / "docs/operations.md").read_text("utf-8")
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("page", "ticket")
            words = rule["annotations"]["description"]
            for section in re.findall(r'see "([^"]+)"', words):
                assert f"### {section}\n" in page, section
