"""Sampling by salted hash: a retry, a restart and a higher rate all agree with the first choice."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """What a rule samples: traces at this rate, or whole conversations (`by_session`)."""

    salt: str
    rate: float
    by_session: bool

    def takes(self, trace_id: str, project: str, session_id: str) -> bool:
        """Return whether the sample can take a trace, whatever conditions and caps say."""
        key = sample_key(trace_id, project, session_id, by_session=self.by_session)
        return is_sampled(key, self.salt, self.rate)


def sample_key(target_id: str, project: str, session_id: str, *, by_session: bool) -> str:
    """Return the id whose hash decides: conversations of one id in two projects are two."""
    return f"{project}\n{session_id}" if by_session and session_id else target_id


def _key(salt: str) -> bytes:
    return blake2b(salt.encode("utf-8", "surrogatepass"), digest_size=32).digest()
