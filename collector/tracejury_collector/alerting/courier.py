"""The courier: posts the messages that wait, again at growing intervals, for a bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping

import duckdb
import httpx

from tracejury_collector.config import WebhookSettings
from tracejury_collector.errors import Unavailable
from tracejury_collector.store.alerts import (
    Attempted,
    AttemptWrite,
    Waiting,
    waiting_deliveries,
)
from tracejury_collector.store.database import Database
from tracejury_evaluators.process.post import AnswerTooLarge, Post, Reply, send

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 64 << 10
GIVE_UP_NS = 3600 * 1_000_000_000
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 300.0
AT_ONCE = 8
_LOOK_S = 1.0
_LAST_WORDS_S = 1.0
_SAID_CHARACTERS = 200


class Courier:
    """Posts each alert's messages in their order; an alert whose webhook hangs delays no other."""

    def __init__(
        self,
        db: Database,
        webhooks: Mapping[str, WebhookSettings],
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._db = db
        self._webhooks = webhooks
        self._now_ns = now_ns
        self._roused = asyncio.Event()
        self._on_the_way: dict[str, asyncio.Task[None]] = {}

    def rouse(self) -> None:
        """Look for messages at once."""
        self._roused.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Post what waits until `stop` is set; what is on the way then has a last moment."""
        try:
            while not stop.is_set():
                await self._start_what_is_due()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._roused.wait(), _LOOK_S)
                self._roused.clear()
        finally:
            await self._end()

    async def tick(self) -> None:
        """Post what is due, and wait for the answers."""
        await self._start_what_is_due()
        await asyncio.gather(*self._on_the_way.values())

    async def _end(self) -> None:
        tasks = list(self._on_the_way.values())
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_WORDS_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _start_what_is_due(self) -> None:
        busy = set(self._on_the_way)  # what is delivered while the rest is read was read before
        for waiting in await self._due():
            if waiting.alert in busy or len(self._on_the_way) >= AT_ONCE:
                continue
            task = asyncio.create_task(self._deliver(waiting), name=f"alert {waiting.alert}")
            self._on_the_way[waiting.alert] = task

    async def _due(self) -> list[Waiting]:
        try:
            found = await asyncio.to_thread(waiting_deliveries, self._db, self._now_ns())
        except (Unavailable, duckdb.Error, OSError) as error:
            log.warning("messages of alerts cannot be read now: %s", error)
            return []
        return [waiting for waiting in found if waiting.alert in self._webhooks]

    async def _deliver(self, waiting: Waiting) -> None:
        try:
            reply = await self._post(self._webhooks[waiting.alert], waiting.body)
            attempted = attempt_of(waiting, reply, self._now_ns())
            if attempted.error:
                log.warning("message of alert %s: %s", waiting.alert, attempted.error)
            await asyncio.wrap_future(self._db.write(AttemptWrite(attempted)))
        except (Unavailable, duckdb.Error) as error:
            log.warning("message of alert %s: cannot be noted now: %s", waiting.alert, error)
        except Exception:
            log.exception("message of alert %s", waiting.alert)
        finally:
            self._on_the_way.pop(waiting.alert, None)
            self._roused.set()

    async def _post(self, webhook: WebhookSettings, body: bytes) -> Reply | str:
        """Return the answer, or why there is none: never the URL, which may be a secret."""
        post = Post(
            url=webhook.url,
            headers=webhook.headers,
            body=body,
            timeout_s=TIMEOUT_S,
            attempts=1,
            max_answer_bytes=MAX_ANSWER_BYTES,
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await send(post)
        except TimeoutError:
            return f"it gave no answer within {TIMEOUT_S:g} s"
        except AnswerTooLarge:
            return f"it answered more than {MAX_ANSWER_BYTES} bytes"
        except httpx.HTTPError as error:
            return f"it gave no answer: {type(error).__name__}: {error}".replace(webhook.url, "…")


def attempt_of(waiting: Waiting, reply: Reply | str, now_ns: int) -> Attempted:
    """Return what an answer, or its absence, makes of a message. Pure."""
    attempts = waiting.attempts + 1
    delivered = isinstance(reply, Reply) and 200 <= reply.status < 300
    next_ns = None if delivered else _next_ns(waiting, reply, attempts, now_ns)
    status = "delivered" if delivered else "failed" if next_ns is None else "waiting"
    return Attempted(
        delivery_id=waiting.delivery_id,
        status=status,
        attempts=attempts,
        http_status=reply.status if isinstance(reply, Reply) else None,
        error=None if delivered else _error(reply),
        at_ns=now_ns,
        next_attempt_at_ns=next_ns,
    )


def _next_ns(waiting: Waiting, reply: Reply | str, attempts: int, now_ns: int) -> int | None:
    """Return when it is posted again; None where it is given up."""
    grown_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(attempts - 1, 16))
    asked_s = min(LONGEST_WAIT_S, _asked_s(reply))
    next_ns = now_ns + int(max(grown_s, asked_s) * 1e9)
    return next_ns if next_ns - waiting.created_at_ns <= GIVE_UP_NS else None


def _asked_s(reply: Reply | str) -> float:
    said = reply.retry_after if isinstance(reply, Reply) else ""
    return float(said) if said.isdecimal() and len(said) < 7 else 0.0


def _error(reply: Reply | str) -> str:
    if isinstance(reply, str):
        return reply
    if 300 <= reply.status < 400:
        return f"it answered with status {reply.status}: it points elsewhere, which is not followed"
    said = reply.body[:_SAID_CHARACTERS].decode("utf-8", "replace").strip()
    return (
        f"it answered with status {reply.status}: {said}"
        if said
        else (f"it answered with status {reply.status}")
    )
