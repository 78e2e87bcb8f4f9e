"""Jobs that wait for the jury, in lines that never wait for each other; live ones go first.

Every line reads the database by itself, so that one that stands still holds up no other and
keeps little in memory. Lines that have come equally far read together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tracejury_collector.jury.jobs import QUERY, QUICK, Job, LineKey

Position = tuple[int, str]
START: Position = (0, "")

LOW_JOBS = 512
"""A line with fewer jobs of a kind reads on."""


@dataclass(slots=True)
class _Queue:
    """Jobs of one kind, live or of runs, and how far the line has read."""

    position: Position
    jobs: deque[Job] = field(default_factory=deque)
    may_have_more: bool = True

    @property
    def wants_more(self) -> bool:
        return self.may_have_more and len(self.jobs) < LOW_JOBS


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is to be read next: jobs of a kind, after a position, for these lines."""

    of_runs: bool
    after: Position
    keys: frozenset[LineKey]


class Line:
    """The jobs that wait for one kind of work; `in_hand` counts those under way.

    `held` says why none may begin now; "" while any may.
    """

    def __init__(self, key: LineKey, live: Position = START, runs: Position = START) -> None:
        self.key = key
        self.in_hand = 0
        self.held = ""
        self._queues = {False: _Queue(live), True: _Queue(runs)}

    def __len__(self) -> int:
        return sum(len(queue.jobs) for queue in self._queues.values())

    def queue(self, of_runs: bool) -> _Queue:
        """The jobs of a kind."""
        return self._queues[of_runs]

    def add(self, job: Job) -> None:
        """Let a job wait behind all others of its kind."""
        self._queues[job.is_of_run].jobs.append(job)

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Let jobs wait again, before all others of their kind."""
        for job in reversed(list(jobs)):
            self._queues[job.is_of_run].jobs.appendleft(job)

    def take(self, limit: int) -> list[Job]:
        """Take jobs off the line; none of a run while a live one waits."""
        taken: list[Job] = []
        for of_runs in (False, True):
            jobs = self._queues[of_runs].jobs
            while jobs and len(taken) < limit:
                taken.append(jobs.popleft())
        return taken


class Lines:
    """All lines. What is asked elsewhere has a line as soon as the quick line comes across it."""

    def __init__(self) -> None:
        self.quick = Line(QUICK)
        self.queries = Line(QUERY)
        self._lines = {QUICK: self.quick, QUERY: self.queries}

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines.values())

    @property
    def waiting(self) -> Sequence[Line]:
        """The lines of evaluators that wait for others."""
        return [line for line in self if line.key[0] == "waiting"]

    def of(self, key: LineKey) -> Line:
        """Return the line with this key; it must be there."""
        return self._lines[key]

    def held(self, key: LineKey) -> str:
        """Say why no job of a line may begin now; "" if any may."""
        line = self._lines.get(key)
        return line.held if line else ""

    def note_news(self) -> None:
        """There are new jobs in the database."""
        for line in self:
            for of_runs in (False, True):
                line.queue(of_runs).may_have_more = True

    @property
    def want_more(self) -> bool:
        """Whether any line is to be read for."""
        return any(line.queue(of_runs).wants_more for line in self for of_runs in (False, True))

    def next_reading(self) -> Reading | None:
        """Return what is to be read next, None while every line has enough; live jobs first.

        What it is for counts as read to its end from then on, unless news come or `took` denies.
        """
        for of_runs in (False, True):
            hungry = [line for line in self if line.queue(of_runs).wants_more]
            if hungry:
                after = min(line.queue(of_runs).position for line in hungry)
                readers = [line for line in hungry if line.queue(of_runs).position == after]
                for line in readers:
                    line.queue(of_runs).may_have_more = False
                keys = (line.key for line in readers)
                return Reading(of_runs=of_runs, after=after, keys=frozenset(keys))
        return None

    def took(self, reading: Reading, end: Position, *, has_more: bool) -> None:
        """Note that a reading came this far."""
        for key in reading.keys:
            queue = self._lines[key].queue(reading.of_runs)
            queue.position = end
            queue.may_have_more |= has_more

    def is_for(self, reading: Reading, key: LineKey) -> bool:
        """Say whether a reading is to bring jobs of this line; what the quick one finds, is."""
        return key in reading.keys or (QUICK in reading.keys and key not in self._lines)

    def opened(self, key: LineKey) -> Line:
        """Return the line with this key; a new one has come as far as the quick line."""
        if key not in self._lines:
            live, runs = (self.quick.queue(of_runs).position for of_runs in (False, True))
            self._lines[key] = Line(key, live=live, runs=runs)
        return self._lines[key]
