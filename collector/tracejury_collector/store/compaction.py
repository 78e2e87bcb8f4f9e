"""Writing the database anew, without the room that deleted rows leave, and putting it in place.

Most is copied while the service works: what was there at one moment, then what has come about
since, until that is little. The rest is copied while nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tracejury_collector.errors import CopyFailed
from tracejury_collector.store.instance import Instance
from tracejury_collector.store.mirror import Mirror

SWAP_S = 2.5
"""Left for what comes after the copying: to close one file and to open the other."""


class Compaction(Mirror):
    """A copy that is brought up to date again and again, and then takes the place of the file."""

    def rehearse(self) -> float:
        """Do what the pause is for; return how long it took, in seconds.

        It is done twice: the first time also brings to the disk what the rounds have left in the
        copy's log.
        """
        self._rehearse()
        started_s = time.monotonic()
        self._rehearse()
        return time.monotonic() - started_s

    def _rehearse(self) -> None:
        with self._db.read() as cursor:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            self.make_equal(cursor)
            self.copy.settle()

    def replace(self, within_s: float) -> float:
        """Copy the rest while nothing is written, and swap the files; return how long it took.

        Raises: CopyFailed where it would take longer than `within_s`, or something is missing: the
        old file stays.
        """

        def swap(instance: Instance) -> float:
            started_s = time.monotonic()
            with _no_longer_than(within_s - SWAP_S) as check:
                instance.checkpoint()
                self.make_equal(instance.root, check)
                self.copy.take_sequences(instance.root)
                self.copy.close()
                check()
            instance.swap(self.copy.path)
            return time.monotonic() - started_s

        self._db.checkpoint().result()  # so that the one in the pause is short
        return self._db.aside(swap).result()

    def abandon(self) -> None:
        """Remove the copy."""
        self.copy.abandon()


@contextmanager
def _no_longer_than(limit_s: float) -> Iterator[Callable[[], None]]:
    """Give what raises CopyFailed once the time is over."""
    deadline_s = time.monotonic() + limit_s

    def check() -> None:
        if time.monotonic() > deadline_s:
            raise CopyFailed(f"what is left to copy takes longer than {limit_s:.1f} s")

    yield check
