"""What the arguments of allowed functions may be, so that no call takes more than its text says.

DuckDB looks for an interrupt between chunks of rows, never inside of a function: what grows or
takes long over one large value, such as the content of a trace, could not be stopped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracejury_collector.errors import SqlRefused

Node = Mapping[str, Any]

MAX_REPLACEMENT = 64
MAX_GROWTH = 256
MAX_KEPT = 1000
MAX_SAMPLE = 100_000
MAX_STARS = 20
MAX_TABLES = 200
NO_LOCATION = 1 << 63
_GATHERED = 64  # how many times larger than its inputs a text of many rows is taken to be

_REPLACING = {"replace", "regexp_replace"}
_GATHERING = {"string_agg", "group_concat", "listagg", "list", "array_agg", "json_group_array"}
_JOINING = {"||", "concat", "concat_ws", "list_concat", "list_cat", "array_concat", "array_cat"}
_LIKE = {"~~", "!~~", "like_escape", "not_like_escape"}
_ILIKE = {"~~*", "!~~*", "ilike_escape", "not_ilike_escape"}
_KEEPING = {"approx_top_k": 1, "max": 1, "min": 1} | dict.fromkeys(
    ("arg_max", "arg_min", "argmax", "argmin", "max_by", "min_by"), 2
)
"""Functions that keep n values, by which argument n is."""
_ARITHMETIC = {"+", "-", "*", "/", "//", "%", "**", "^"}
_LAMBDAS = {
    f"{prefix}{verb}"
    for prefix in ("list_", "array_", "")
    for verb in ("transform", "apply", "filter")
}


def refused(node: Node, message: str) -> SqlRefused:
    """Return the refusal of a node, with its place."""
    offset = node.get("query_location", NO_LOCATION)
    return SqlRefused(message, offset=offset if offset < NO_LOCATION else None)


def check_call(node: Node) -> None:
    """Check the arguments of a call of an allowed function.

    Raises: SqlRefused with the place and the remedy.
    """
    name, arguments = node["function_name"].lower(), node.get("children", [])
    if name in _REPLACING:
        _check_replacement(node, arguments)
    if name in _REPLACING | _GATHERING | _JOINING and growth(node) > MAX_GROWTH:
        raise refused(node, f"{name!r} could make texts too large; replace or join fewer at a time")
    if name in _LIKE | _ILIKE:
        _check_like(node, arguments)
    if name in _KEEPING:
        _check_kept(node, arguments[_KEEPING[name] :])
    if name == "map" and any(not _is_list(argument) for argument in arguments):
        raise refused(node, "a map of lists is not allowed; write MAP {'key': value}")
    if name in _LAMBDAS:
        for argument in arguments:
            if argument.get("class") == "LAMBDA":
                _check_lambda(argument)


def pattern_parameters(node: Node) -> Iterator[str]:
    """Yield the parameter that is the pattern of a LIKE, where it is one."""
    if node["function_name"].lower() in _LIKE | _ILIKE:
        pattern = node["children"][1]
        if pattern.get("class") == "PARAMETER":
            yield str(pattern["identifier"])


def check_pattern(pattern: str, node: Node) -> None:
    """Check that matching the pattern of a LIKE takes time in line with the text.

    Raises: SqlRefused with the remedy.
    """
    if len(re.findall("%+(?=[^%])", pattern)) > 1:
        raise refused(
            node,
            f"the pattern {pattern[:100]!r} can take too long; use one % before the last, or "
            "regexp_matches",
        )


def check_size(statement: Node) -> None:
    """Check how much the statement is once its stars and its WITH parts are put in.

    Raises: SqlRefused with the remedy.
    """
    tables, stars = _tables(statement, {}), _stars(statement)
    if tables > MAX_TABLES:
        raise SqlRefused(
            f"it reads {tables} tables once its WITH parts are put in; use at most {MAX_TABLES}"
        )
    if stars > MAX_STARS:
        raise SqlRefused(f"it has {stars} stars; use at most {MAX_STARS}, or name the columns")


def check_sample(node: Node) -> None:
    """Check how many rows a sample keeps.

    Raises: SqlRefused with the remedy.
    """
    size = node.get("sample_size", {}).get("value", 0)
    if not node.get("is_percentage") and float(size) > MAX_SAMPLE:
        raise SqlRefused(f"a sample of {size} rows is too large; take at most {MAX_SAMPLE}")


def growth(node: Node) -> int:
    """Return how many times larger than the texts that it reads the value of an expression is."""
    inner = [growth(child) for child in _children(node)]
    most = max(inner, default=1)
    name = str(node.get("function_name", "")).lower()
    if name in _REPLACING:
        return most * _replaced(node)
    if name in _JOINING:
        parts = zip(node.get("children", []), inner, strict=False)
        return max(1, sum(size for child, size in parts if child.get("class") != "CONSTANT"))
    return most * _GATHERED if name in _GATHERING else most


def _replaced(node: Node) -> int:
    searched, replacement = (_literal(each) or "" for each in node["children"][1:3])
    shrinks = node["function_name"].lower() == "replace" and searched
    return max(1, math.ceil(len(replacement) / len(searched)) if shrinks else len(replacement))


def _children(node: Node) -> Iterator[Node]:
    for value in node.values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Mapping):
                if "class" in each:
                    yield each
                elif "node" not in each:
                    yield from _children(each)


def _literal(node: Node) -> str | None:
    """Return the text that a node is, as the tree writes it: an empty one is left out."""
    value = node.get("value", {}).get("value", "") if node.get("class") == "CONSTANT" else None
    return value if isinstance(value, str) else None


def _check_replacement(node: Node, arguments: list[Node]) -> None:
    for argument in arguments[2:3]:
        text = _literal(argument)
        if text is None or len(text) > MAX_REPLACEMENT:
            raise refused(
                node,
                f"{node['function_name']!r} replaces by a text that is not known or long; "
                f"give a literal of at most {MAX_REPLACEMENT} characters",
            )


def _check_like(node: Node, arguments: list[Node]) -> None:
    pattern = arguments[1]
    if pattern.get("class") == "PARAMETER":
        return
    text = _literal(pattern)
    if text is None:
        raise refused(
            node,
            "the pattern of LIKE is no literal; use starts_with, contains or regexp_matches",
        )
    is_plain = node["function_name"].lower() in ("~~", "!~~") and "_" not in text
    if not is_plain:
        check_pattern(text, node)


def _check_kept(node: Node, counts: list[Node]) -> None:
    for count in counts[:1]:
        value = count.get("value", {}).get("value")
        if count.get("class") != "CONSTANT" or not isinstance(value, int) or value > MAX_KEPT:
            raise refused(
                node,
                f"{node['function_name']!r} keeps as many values as its last argument says; "
                f"give a literal of at most {MAX_KEPT}",
            )


def _is_list(node: Node) -> bool:
    return str(node.get("function_name", "")).lower() in ("list_value", "array_value", "list_pack")


def _check_lambda(node: Node) -> None:
    parameters = {each["column_names"][0] for each in _columns(node["lhs"])}
    plain = [
        id(child) for each in _below(node["expr"]) if _is_plain(each) for child in _children(each)
    ]
    for each in _columns(node["expr"]):
        if each["column_names"][0] not in parameters and id(each) not in plain:
            raise refused(
                each,
                f"a lambda hands {'.'.join(each['column_names'])!r} to a function for each item; "
                "compare or calculate with it, or unnest the list and join instead",
            )
    if any(_is_lambda(each) for each in _below(node["expr"])):
        raise refused(node, "a lambda inside of a lambda is not allowed; unnest the list instead")


def _is_lambda(node: Node) -> bool:
    return str(node.get("function_name", "")).lower() in _LAMBDAS


def _is_plain(node: Node) -> bool:
    """Say whether a node compares or calculates: what takes no time in line with large values."""
    name = str(node.get("function_name", "")).lower()
    return node.get("class") in ("COMPARISON", "CONJUNCTION", "BETWEEN") or name in _ARITHMETIC


def _columns(node: Node) -> Iterator[Node]:
    return (each for each in _below(node) if each.get("class") == "COLUMN_REF")


def _below(node: Node) -> Iterator[Node]:
    yield node
    for child in _children(node):
        yield from _below(child)


def _tables(node: Any, weights: Mapping[str, int]) -> int:
    """Return how many tables are read; `weights` says how many those of WITH stand for."""
    if isinstance(node, list):
        return sum(_tables(item, weights) for item in node)
    if not isinstance(node, Mapping):
        return 0
    if node.get("type") == "BASE_TABLE":
        return weights.get(node["table_name"].lower(), 1)
    for entry in node.get("cte_map", {}).get("map", []):
        weights = {**weights, entry["key"].lower(): max(1, _tables(entry["value"], weights))}
    return sum(_tables(value, weights) for key, value in node.items() if key != "cte_map")


def _stars(node: Any) -> int:
    if isinstance(node, list):
        return sum(map(_stars, node))
    if not isinstance(node, Mapping):
        return 0
    return (node.get("class") == "STAR") + sum(map(_stars, node.values()))
