"""What the planner tells the supervisor: which processes to keep alive, and their sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from tracejury_collector.children import ChildSpec, Fork

GRPC_FD: Final = 100
"""The number of the socket that holds the port of gRPC, in the supervisor."""
HTTP_FD: Final = 101
API_FD: Final = 102
SOCKETS: Final = (GRPC_FD, HTTP_FD, API_FD)

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to start, the folder to remove in the end, and what to say once all is ready."""

    children: Sequence[ChildSpec]
    directory: str
    announcement: str


def send_plan(supervisor: socket.socket, plan: Plan, fds: Sequence[int]) -> None:
    """Send a plan, with the sockets that stand for `SOCKETS`."""
    children = [{**asdict(child), "settings": child.settings.decode()} for child in plan.children]
    document = json.dumps({**asdict(plan), "children": children}).encode()
    socket.send_fds(supervisor, [document[:1]], fds)
    supervisor.sendall(document[1:])


def receive_plan(planner: socket.socket) -> tuple[Plan, list[int]] | None:
    """Return a plan and its sockets; None where the planner ended without one."""
    first, fds, _, _ = socket.recv_fds(planner, 1, len(SOCKETS))
    if not first:
        return None
    with planner.makefile("rb") as rest:
        document = json.loads(first + rest.read())
    children = [_child(**child) for child in document["children"]]
    return Plan(**{**document, "children": children}), fds


def _child(
    *, settings: str, fork: dict[str, Any] | None, fds: Sequence[int], **fields: Any
) -> ChildSpec:
    return ChildSpec(
        settings=settings.encode(), fork=Fork(**fork) if fork else None, fds=tuple(fds), **fields
    )
