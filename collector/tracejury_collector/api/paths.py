"""Parts of paths that may hold anything."""

from __future__ import annotations

from starlette.convertors import PathConvertor, register_url_convertor


class _Anything(PathConvertor):
    """What `path` takes, slashes too, and line breaks, which it does not."""

    regex = "(?s:.*)"


# Routes are compiled when they are declared, so that this has to be known before.
register_url_convertor("anything", _Anything())


def anything(name: str) -> str:
    """Return the parameter of a path that takes all the rest."""
    return f"{{{name}:anything}}"
