"""Parts of paths that may hold anything."""

from __future__ import annotations

from fastapi.routing import APIRoute
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.routing import Match
from starlette.types import Scope


class _Anything(PathConvertor):
    """What `path` takes, slashes too, and line breaks, which it does not."""

    regex = "(?s:.*)"


# Routes are compiled when they are declared, so that this has to be known before.
register_url_convertor("anything", _Anything())


def anything(name: str) -> str:
    """Return the parameter of a path that takes all the rest."""
    return f"{{{name}:anything}}"


class LastSegmentRoute(APIRoute):
    """A route whose last segment the caller wrote as it is, after a parameter that takes anything.

    Paths are matched decoded, so that an id which ends in `/explain`, percent-encoded, looks like
    one followed by it. Only the path as it was sent tells them apart.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match unless the last slash was sent as `%2F`."""
        sent = scope.get("raw_path") or b""
        last = self.path.rpartition("/")[2].encode()
        if sent.partition(b"?")[0].rpartition(b"/")[2] != last:
            return Match.NONE, {}
        return super().matches(scope)
