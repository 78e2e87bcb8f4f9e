"""Sampling by salted hash: a retry, a restart and a higher rate all agree with the first choice."""

from __future__ import annotations

from hashlib import blake2b

_SPACE = 1 << 64


def sample_point(trace_id: str, salt: str) -> int:
    """Return where the trace falls among 2**64 points; uniform, and independent between salts.

    The salt keeps an upstream sampler, which also goes by the trace id, from biasing this one.
    """
    digest = blake2b(
        trace_id.encode("utf-8", "surrogatepass"), key=_key(salt), digest_size=8
    ).digest()
    return int.from_bytes(digest, "big")


def is_sampled(trace_id: str, salt: str, rate: float) -> bool:
    """Return whether the trace is in the sample; it is then in that of every higher rate too."""
    return sample_point(trace_id, salt) < rate * _SPACE


def _key(salt: str) -> bytes:
    return blake2b(salt.encode("utf-8", "surrogatepass"), digest_size=32).digest()
