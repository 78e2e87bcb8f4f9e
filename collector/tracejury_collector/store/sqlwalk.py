"""The walk over DuckDB's syntax tree that lets only listed nodes and names pass."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from tracejury_collector.errors import SqlRefused
from tracejury_collector.store import sqlallowed as allowed
from tracejury_collector.store import sqlbounds as bounds
from tracejury_collector.store import sqltree as tree

MAX_DEPTH = 120
_TYPE_INFOS = {"DECIMAL_TYPE_INFO", "LIST_TYPE_INFO", "STRUCT_TYPE_INFO"}

Node = Mapping[str, Any]
Scope = frozenset[str]


class Walk:
    """One walk; without `subqueries` it passes over a condition on the columns of one table.

    `tables` are names that stand for tables beside the views. `patterns` are the parameters that
    are patterns of LIKE.
    """

    def __init__(self, *, subqueries: bool = True, tables: Scope = frozenset()) -> None:
        self._subqueries = subqueries
        self._tables = tables
        self.patterns: set[str] = set()

    def statement(self, node: Node) -> None:
        """Pass over a statement.

        Raises: SqlRefused at the first thing that is not allowed.
        """
        self._visit("statement", node, self._tables, 0)
        bounds.check_size(node)

    def expression(self, node: Node) -> None:
        """Pass over an expression; see `statement`."""
        self._visit("expression", node, frozenset(), 0)

    def _visit(self, kind: tree.Kind, value: Any, scope: Scope, depth: int) -> None:
        if kind == "data" or value is None or value in ("", [], False):
            return
        if depth > MAX_DEPTH:
            raise SqlRefused(f"it is nested more than {MAX_DEPTH} deep; make it simpler")
        if isinstance(value, list):
            for item in value:
                self._visit(kind, item, scope, depth)
        elif kind == "nothing":
            raise SqlRefused(f"{value!r} is not allowed here; leave it out")
        elif isinstance(value, dict):
            self._node(kind, value, scope, depth + 1)
        else:
            raise SqlRefused(f"{value!r} is not known here")

    def _node(self, kind: tree.Kind, node: Node, scope: Scope, depth: int) -> None:
        if kind in ("type", "constant"):
            _check_type(node if kind == "type" else node.get("type", {}))
        elif kind == "query":
            self._query(node, scope, depth)
        elif kind == "table":
            self._table(node, scope, depth)
        elif kind == "expression":
            self._expression(node, scope, depth)
        elif kind == "function":
            _check_name("table function", node, allowed.TABLE_FUNCTIONS)
            self._fields(tree.EXPRESSIONS["FUNCTION"], node, scope, depth)
        elif kind == "modifier":
            shape = _shape("modifier", tree.MODIFIERS, node.get("type"), node)
            self._fields(shape, node, scope, depth)
        else:
            if kind == "sample":
                bounds.check_sample(node)
            self._fields(tree.PLAIN[kind], node, scope, depth)

    def _fields(self, shape: tree.Shape, node: Node, scope: Scope, depth: int) -> None:
        for key, value in node.items():
            self._visit(shape.get(key, "nothing"), value, scope, depth)

    def _query(self, node: Node, scope: Scope, depth: int) -> None:
        shape = _shape("statement", tree.QUERIES, node.get("type"), node)
        for entry in node.get("cte_map", {}).get("map", []):
            self._fields(tree.CTE, entry["value"], scope, depth)
            scope |= {entry["key"].lower()}
        own = scope | {str(node.get("cte_name", "")).lower()}
        inner = {"RECURSIVE_CTE_NODE": "right", "CTE_NODE": "child"}.get(node["type"])
        for key, value in node.items():
            if key != "cte_map":
                kind = shape.get(key, "nothing")
                self._visit(kind, value, own if key == inner else scope, depth)

    def _table(self, node: Node, scope: Scope, depth: int) -> None:
        shape = _shape("table expression", tree.TABLES, node.get("type"), node)
        if node["type"] == "BASE_TABLE":
            _check_table(node, scope)
        elif node["type"] == "SHOW_REF" and not node.get("query"):
            raise bounds.refused(
                node, f"SHOW is not allowed; the tables are {_listed(allowed.VIEWS)}"
            )
        self._fields(shape, node, scope, depth)

    def _expression(self, node: Node, scope: Scope, depth: int) -> None:
        class_ = node.get("class")
        shape = _shape("expression", tree.EXPRESSIONS, class_, node)
        if class_ in ("FUNCTION", "WINDOW"):
            _check_name("function", node, allowed.FUNCTIONS)
            bounds.check_call(node)
            self.patterns.update(bounds.pattern_parameters(node))
        elif class_ in ("SUBQUERY", "PARAMETER", "STAR") and not self._subqueries:
            raise bounds.refused(node, f"{class_.lower()} is not allowed in a condition")
        self._fields(shape, node, scope, depth)


def _shape(what: str, shapes: Mapping[str, tree.Shape], name: Any, node: Node) -> tree.Shape:
    if name not in shapes:
        raise bounds.refused(node, f"the {what} {name} is not allowed; use a plain SELECT")
    return shapes[name]


def _check_table(node: Node, scope: Scope) -> None:
    name, schema = node["table_name"], node.get("schema_name", "")
    if node.get("catalog_name") or schema.lower() not in ("", "main"):
        full = ".".join(filter(None, (node.get("catalog_name"), schema, name)))
        raise bounds.refused(
            node,
            f"{full!r} is not allowed; name a view without a schema: {_listed(allowed.VIEWS)}",
        )
    known = allowed.VIEWS if schema else allowed.VIEWS | scope
    if name.lower() not in known:
        raise bounds.refused(
            node,
            f"there is no table {name!r}{_nearest(name, known)}; "
            f"the tables are {_listed(allowed.VIEWS)}",
        )


def _check_name(what: str, node: Node, known: Collection[str]) -> None:
    name = str(node.get("function_name", "")).lower()
    if node.get("schema", "") not in ("", "main") or name not in known:
        remedy = allowed.REMEDIES.get(name)
        hint = f"; {remedy}" if remedy else _nearest(name, known)
        raise bounds.refused(node, f"the {what} {name!r} is not allowed{hint}")


def _check_type(node: Any, depth: int = 0) -> None:
    """Pass over a type and the types inside it."""
    if depth > MAX_DEPTH or not isinstance(node, dict):
        raise SqlRefused("a type is nested too deep or not known")
    name, info = node.get("id"), node.get("type_info") or {}
    if info.get("type") == "UNBOUND_TYPE_INFO":
        if info.get("catalog") or info.get("schema") or info.get("user_type_modifiers"):
            raise SqlRefused(f"the type {info.get('name')!r} is not allowed; use a built-in one")
        name = str(info.get("name")).upper()
    elif info and info.get("type") not in _TYPE_INFOS:
        raise SqlRefused(f"the type {name} is not allowed{_nearest(str(name), allowed.TYPES)}")
    if name not in allowed.TYPES:
        raise SqlRefused(f"the type {name} is not allowed{_nearest(str(name), allowed.TYPES)}")
    inner = [info["child_type"]] if "child_type" in info else []
    inner += [child["second"] for child in info.get("child_types", [])]
    for child in inner:
        _check_type(child, depth + 1)


def _nearest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name.lower(), sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))
