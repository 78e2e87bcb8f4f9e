"""What a jury process does to itself before it runs code it does not trust to be well-behaved."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import resource
import sys
from functools import cache

_M_ARENA_MAX = -8  # of glibc's malloc.h


def confine(memory_bytes: int) -> None:
    """Lead an own process group, limit the address space, detach the standard streams."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    _share_heaps()
    _limit_address_space(memory_bytes)
    _detach_streams()


class Surroundings:
    """What all evaluators of a process find; put back after each, whatever it has changed."""

    def __init__(self) -> None:
        self._recursion_limit = sys.getrecursionlimit()
        self._folder = os.getcwd()

    def restore(self) -> None:
        """Make it as it was."""
        if sys.getrecursionlimit() != self._recursion_limit:
            sys.setrecursionlimit(self._recursion_limit)
        with contextlib.suppress(OSError):
            os.chdir(self._folder)


def address_space_bytes() -> int:
    """Return how much address space this process uses; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        return int(os.pread(_statm(), 64, 0).split()[0]) * resource.getpagesize()
    return 0


@cache
def _statm() -> int:
    return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)


def _share_heaps() -> None:
    """Let threads share heaps: each of its own would reserve address space that is limited."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _limit_address_space(memory_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _detach_streams() -> None:
    """Let what evaluators print or read lead nowhere; logging keeps the old standard error."""
    sys.stdout.flush()
    sys.stderr.flush()
    log_stream = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="replace")
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(log_stream)
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 lives as long as the process
