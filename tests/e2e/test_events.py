"""Live events go on over a kill of the store: who comes again with a place misses nothing."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.helpers.senders import sending, wait_for_acknowledgements
from tests.helpers.service import RunningService, eventually, running_service

KILLS = 3


class Follower(threading.Thread):
    """Follows the traces, and comes again where it was whenever the stream ends."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.finished: Counter[str] = Counter()
        self.streams = 0
        self._url = url
        self._place = "0.0"
        self._ending = threading.Event()

    def run(self) -> None:
        """Follow until it is told to end."""
        while not self._ending.wait(0.05):
            try:
                self._follow()
            except httpx.HTTPError:
                continue

    def end(self) -> None:
        """Stop following."""
        self._ending.set()
        self.join(30)
        assert not self.is_alive()

    def _follow(self) -> None:
        headers = {"last-event-id": self._place}
        with httpx.stream("GET", self._url, headers=headers, timeout=10) as response:
            self.streams += response.status_code == 200
            event: dict[str, str] = {}
            for line in response.iter_lines():
                if self._ending.is_set():
                    return
                if line:
                    name, _, value = line.partition(": ")
                    event[name] = value
                else:
                    self._take(event)
                    event = {}

    def _take(self, event: dict[str, str]) -> None:
        """Take an event that came whole."""
        self._place = event.get("id", self._place)
        if event.get("event") == "trace":
            trace = json.loads(event["data"])
            self.finished[trace["trace_id"]] += trace["status"] == "complete"


@contextmanager
def following(service: RunningService) -> Iterator[Follower]:
    follower = Follower(f"{service.api}/api/traces/events")
    follower.start()
    try:
        yield follower
    finally:
        follower.end()


@pytest.mark.slow
def test_whoever_comes_again_after_a_kill_is_told_of_every_trace_once(tmp_path: Path) -> None:
    with running_service(tmp_path) as service, following(service) as follower:
        with sending(service) as senders:
            for _ in range(KILLS):
                wait_for_acknowledgements(service, senders)
                eventually(lambda: follower.finished, "traces are told", log=service.log)
                service.children()["store"].kill()
                wait_for_acknowledgements(service, senders)
        sent = {trace for sender in senders for trace in sender.acknowledged}
        eventually(
            lambda: sent <= {trace for trace, times in follower.finished.items() if times},
            "every trace is told",
            timeout_s=60,
            log=service.log,
        )
        assert {follower.finished[trace] for trace in sent} == {1}
        assert follower.streams > KILLS
