"""Content negotiation: the media type that an Accept header prefers."""

from __future__ import annotations

from collections.abc import Sequence


def preferred(accept: str, offered: Sequence[str]) -> str | None:
    """Return the offered media type that `accept` ranks highest, None if it takes none.

    Of types ranked alike, the one offered first is taken; an empty header takes anything.
    """
    if not accept.strip():
        return offered[0]
    ranges = [_range(item) for item in accept.split(",")]
    ranked = [(_quality(media_type, ranges), -n) for n, media_type in enumerate(offered)]
    quality, position = max(ranked)
    return offered[-position] if quality > 0 else None


def takes_gzip(accept_encoding: str) -> bool:
    """Say whether an Accept-Encoding header takes gzip; an empty one takes none."""
    taken = dict(_range(item) for item in accept_encoding.split(","))
    return taken.get("gzip", taken.get("*", 0.0)) > 0


def _range(item: str) -> tuple[str, float]:
    media_type, *params = [part.strip().lower() for part in item.split(";")]
    quality = 1.0
    for param in params:
        if param.startswith("q="):
            try:
                quality = min(1.0, max(0.0, float(param[2:])))
            except ValueError:
                quality = 0.0
    return media_type, quality if quality == quality else 0.0


def _quality(media_type: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Return the quality of the most specific range that matches."""
    for pattern in (media_type, f"{media_type.partition('/')[0]}/*", "*/*"):
        found = [quality for name, quality in ranges if name == pattern]
        if found:
            return max(found)
    return 0.0
