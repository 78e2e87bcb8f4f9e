"""The watch: each alert is looked at when its time has come, one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Mapping

import duckdb

from tracejury_collector.alerting.checking import Look, look
from tracejury_collector.alerting.messages import Message, body_of
from tracejury_collector.alerts import AlertPolicy, AlertState, Event, Unknown, decide
from tracejury_collector.config import AlertSpec
from tracejury_collector.errors import Unavailable
from tracejury_collector.store.alerts import AlertWrite, NewDelivery, alert_states
from tracejury_collector.store.database import Database

log = logging.getLogger(__name__)

LONGEST_SLEEP_S = 1.0
SECOND_NS = 1_000_000_000


class Watch:
    """Looks at alerts on their schedules; what follows is written before it is looked on.

    `rouse` is called when there is a message to send.
    """

    def __init__(
        self,
        db: Database,
        alerts: Mapping[str, AlertSpec],
        rouse: Callable[[], None],
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._db = db
        self._alerts = alerts
        self._rouse = rouse
        self._now_ns = now_ns

    async def run(self, stop: asyncio.Event) -> None:
        """Watch until `stop` is set."""
        while not stop.is_set():
            await self.tick()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LONGEST_SLEEP_S)

    async def tick(self) -> None:
        """Look at what is due."""
        try:
            states = await asyncio.to_thread(self._states)
            for name, spec in self._alerts.items():
                if _is_due(states[name], spec, self._now_ns()):
                    await self._look_at(states[name], spec)
        except (Unavailable, duckdb.Error, OSError) as error:
            log.warning("alerts cannot be looked at now: %s", error)

    def _states(self) -> dict[str, AlertState]:
        unseen = {name: AlertState(alert=name, since_ns=self._now_ns()) for name in self._alerts}
        return unseen | alert_states(self._db)

    async def _look_at(self, state: AlertState, spec: AlertSpec) -> None:
        seen = await asyncio.to_thread(self._look, spec)
        now_ns = self._now_ns()
        after, event = decide(state, seen.found, _policy(spec), now_ns)
        _tell_the_log(after, event, state.error)
        told = event if spec.webhook else None
        delivery = delivery_of(after, spec, told, seen, now_ns) if told else None
        await asyncio.wrap_future(self._db.write(AlertWrite(after, delivery)))
        if delivery:
            self._rouse()

    def _look(self, spec: AlertSpec) -> Look:
        try:
            return look(self._db, spec, self._now_ns())
        except (Unavailable, duckdb.FatalException, duckdb.IOException, OSError):
            raise
        except Exception as error:
            log.exception("a look at an alert failed")
            return Look(found=Unknown(reason=f"{type(error).__name__}: {error}"))


def delivery_of(
    state: AlertState, spec: AlertSpec, event: Event, seen: Look | None, now_ns: int
) -> NewDelivery:
    """Return the message about an alert."""
    message = Message(
        delivery_id=uuid.uuid4().hex,
        event=event,
        state=state,
        description=spec.description or "",
        rows=seen.rows if seen else (),
        created_at_ns=now_ns,
    )
    return NewDelivery(
        delivery_id=message.delivery_id,
        alert=state.alert,
        event=event,
        summary=state.summary,
        body=body_of(message),
        created_at_ns=now_ns,
    )


def _is_due(state: AlertState, spec: AlertSpec, now_ns: int) -> bool:
    """Say whether it is time to look; a look in the future is that of a wrong clock."""
    if state.checked_at_ns is None:
        return True
    return not 0 <= now_ns - state.checked_at_ns < spec.every * SECOND_NS


def _policy(spec: AlertSpec) -> AlertPolicy:
    return AlertPolicy(
        every_ns=int(spec.every * SECOND_NS),
        hold_ns=int(spec.hold * SECOND_NS),
        cooldown_ns=int(spec.cooldown * SECOND_NS),
    )


def _tell_the_log(state: AlertState, event: Event | None, error_before: str | None) -> None:
    if event:
        log.warning("alert %s: %s: %s", state.alert, event, state.summary)
    if state.error and state.error != error_before:
        log.warning("alert %s cannot be looked at: %s", state.alert, state.error)
