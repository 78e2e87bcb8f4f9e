"""The planner: reads the configuration, binds the ports, and says what is to be started.

It is a process of its own that ends with that, so that what keeps the others alive stays small.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson

from tracejury.dialects.custom import CustomDialect
from tracejury_collector.children import ChildSpec, Fork
from tracejury_collector.config import (
    Config,
    load_config,
    load_dialects,
    without_jury,
    without_outward,
)
from tracejury_collector.environments import Role, environment_of
from tracejury_collector.errors import ConfigError
from tracejury_collector.forking import JURY, STORE, command, plain
from tracejury_collector.keys.model import new_key
from tracejury_collector.keys.needed import keys_required, refuse_open_network
from tracejury_collector.listening import address_of, bind, refuse_shared_ports
from tracejury_collector.logs import log_to_stderr
from tracejury_collector.plans import API_FD, HTTP_FD, Plan, send_plan
from tracejury_collector.roles import ChildSettings
from tracejury_collector.rules import JUDGE_PROJECT
from tracejury_collector.status import CANNOT_START

STORE_DRAIN_S = 4.0
RECEIVER_DRAIN_S = 4.0
JURY_DRAIN_S = 1.5
ASSEMBLER_DRAIN_S = 1.0
PREDECESSOR_S = 5.0  # what a service that lost its supervisor needs to leave its ports


def main(argv: Sequence[str]) -> int:
    """Plan the service of the configuration `argv`, or of none, and send the plan.

    Standard input says on which descriptor, and what the service's environment is.
    """
    log_to_stderr("supervisor")
    told = json.loads(sys.stdin.buffer.readline())
    os.environ.update(told["environ"])
    path = Path(argv[0]) if argv else None
    try:
        config = load_config(path)
        dialects = load_dialects(config)
        folder = path.absolute().parent if path else Path.cwd()
        plan, fds = _planned(config, dialects, folder)
    except ConfigError as error:
        print(f"tracejury: {error}", file=sys.stderr)  # noqa: T201
        return CANNOT_START
    with socket.socket(fileno=told["fd"]) as supervisor:
        try:
            send_plan(supervisor, plan, fds)
        except OSError:  # it was stopped meanwhile
            shutil.rmtree(plan.directory, ignore_errors=True)
    return 0


def _planned(config: Config, dialects: list[CustomDialect], folder: Path) -> tuple[Plan, list[int]]:
    """Return what is to be started, and the sockets that it needs."""
    refuse_shared_ports(config.listen)
    refuse_open_network(config)
    deadline_s = time.monotonic() + PREDECESSOR_S
    grpc = bind("listen.grpc", config.listen.grpc, deadline_s, reserve=True)
    http = bind("listen.otlp_http", config.listen.otlp_http, deadline_s)
    api = bind("listen.api", config.listen.api, deadline_s)
    catalog = _described(config, folder)
    directory = Path(tempfile.mkdtemp(prefix="tracejury-"))
    catalog_file = directory / "catalog.json"
    catalog_file.write_bytes(catalog)
    own = new_key("tracejury", ["ingest"], datetime.now(UTC), project=JUDGE_PROJECT)
    settings = ChildSettings(
        config=config.model_dump_json(),
        folder=str(folder),
        catalog=str(catalog_file),
        dialects=[(custom.file, custom.data) for custom in dialects],
        store_socket=str(directory / "store.sock"),
        assembler_socket=str(directory / "assembler.sock"),
        grpc_address=address_of(grpc),
        otlp_http_address=address_of(http),
        otlp_http_fd=HTTP_FD,
        api_fd=API_FD,
        api_address=address_of(api),
        keys_required=keys_required(config),
        own_key=own.key.model_dump_json(),
        own_secret=own.secret,
        environment={},
    )
    plan = Plan(
        children=_children(config, settings),
        directory=str(directory),
        announcement=f"Tracejury is ready: OTLP/gRPC {settings.grpc_address}, "
        f"OTLP/HTTP http://{settings.otlp_http_address}, API http://{settings.api_address}",
    )
    return plan, [each.detach() for each in (grpc, http, api)]


def _described(config: Config, folder: Path) -> bytes:
    """Return the catalog of evaluators as JSON; no other child than store and jury needs it."""
    from tracejury_collector.jury.describe import describe

    judging = environment_of("judge", config, os.environ)
    return describe(config, folder, environ=judging).model_dump_json().encode()


def _children(config: Config, settings: ChildSettings) -> list[ChildSpec]:
    """Return the children to keep alive, each with what it is told."""
    # who reads from the network, or runs the code of others, is told no secret that is not its own
    storing = replace(settings, own_secret="")
    receiving = replace(storing, config=without_jury(config).model_dump_json())
    assembling = replace(storing, config="", own_key="")
    judging = replace(settings, config=without_outward(config).model_dump_json())
    told: dict[Role, ChildSettings] = {
        "store": storing,
        "receiver": receiving,
        "assembler": assembling,
        "jury": replace(judging, own_secret=""),
        "judge": judging,
    }
    lines = {
        role: orjson.dumps(
            asdict(replace(each, environment=environment_of(role, config, os.environ)))
        )
        for role, each in told.items()
    }

    environ = plain(os.environ)

    def child(role: Role, number: int, stage: int, drain_s: float, *fds: int) -> ChildSpec:
        name = f"{role}-{number}" if number else role
        server = JURY if role in ("jury", "judge") else STORE
        return ChildSpec(
            name=name,
            argv=command("roles", role, name),
            fork=Fork(server=server, call="tracejury_collector.roles:main", args=(role, name)),
            settings=lines[role],
            environ=environ,
            fds=fds,
            stage=stage,
            drain_s=drain_s,
        )

    receivers = [
        child("receiver", n, 0, RECEIVER_DRAIN_S, settings.otlp_http_fd)
        for n in range(1, config.receivers + 1)
    ]
    jury = [child("jury", n, 1, JURY_DRAIN_S) for n in range(1, config.jury.workers + 1)]
    jury += [child("judge", n, 1, JURY_DRAIN_S) for n in range(1, config.jury.judges + 1)]
    store = child("store", 0, 2, STORE_DRAIN_S, settings.api_fd)
    assembler = child("assembler", 0, 3, ASSEMBLER_DRAIN_S)
    return [store, assembler, *receivers, *jury]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
