"""The shapes of DuckDB's syntax tree that a user's SELECT may have, as tables.

Each node lists its keys and what stands under them; a key or a node that is not listed is refused.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "data",  # names, flags and numbers without effect on what is read
    "nothing",  # has to be absent
    "expression",
    "query",
    "statement",
    "table",
    "type",
    "constant",
    "modifier",
    "order",
    "case check",
    "sample",
    "function",
    "entry",
]
Shape = dict[str, Kind]

_QUERY: Shape = {"type": "data", "modifiers": "modifier", "cte_map": "data"}

QUERIES: dict[str, Shape] = {
    "SELECT_NODE": {
        **_QUERY,
        "select_list": "expression",
        "from_table": "table",
        "where_clause": "expression",
        "group_expressions": "expression",
        "group_sets": "data",
        "aggregate_handling": "data",
        "having": "expression",
        "sample": "sample",
        "qualify": "expression",
    },
    "SET_OPERATION_NODE": {
        **_QUERY,
        "setop_type": "data",
        "left": "query",
        "right": "query",
        "setop_all": "data",
        "children": "query",
    },
    "RECURSIVE_CTE_NODE": {
        **_QUERY,
        "cte_name": "data",
        "union_all": "data",
        "left": "query",
        "right": "query",
        "aliases": "data",
        "key_targets": "expression",
    },
    "CTE_NODE": {
        **_QUERY,
        "cte_name": "data",
        "query": "query",
        "child": "query",
        "aliases": "data",
        "materialized": "data",
    },
}

_TABLE: Shape = {"type": "data", "alias": "data", "sample": "sample", "query_location": "data"}

TABLES: dict[str, Shape] = {
    "EMPTY": _TABLE,
    "BASE_TABLE": {
        **_TABLE,
        "schema_name": "data",
        "table_name": "data",
        "column_name_alias": "data",
        "catalog_name": "data",
        "at_clause": "nothing",
    },
    "SUBQUERY": {**_TABLE, "subquery": "statement", "column_name_alias": "data"},
    "JOIN": {
        **_TABLE,
        "left": "table",
        "right": "table",
        "condition": "expression",
        "join_type": "data",
        "ref_type": "data",
        "using_columns": "data",
        "delim_flipped": "data",
        "duplicate_eliminated_columns": "expression",
    },
    "TABLE_FUNCTION": {
        **_TABLE,
        "function": "function",
        "column_name_alias": "data",
        "with_ordinality": "data",
    },
    "EXPRESSION_LIST": {
        **_TABLE,
        "expected_names": "data",
        "expected_types": "type",
        "values": "expression",
    },
    "SHOW_REF": {
        **_TABLE,
        "table_name": "nothing",
        "query": "query",
        "show_type": "data",
        "catalog_name": "nothing",
        "schema_name": "nothing",
    },
}

_NODE: Shape = {"class": "data", "type": "data", "alias": "data", "query_location": "data"}

EXPRESSIONS: dict[str, Shape] = {
    "COLUMN_REF": {**_NODE, "column_names": "data"},
    "CONSTANT": {**_NODE, "value": "constant"},
    "PARAMETER": {**_NODE, "identifier": "data"},
    "POSITIONAL_REFERENCE": {**_NODE, "index": "data"},
    "STAR": {
        **_NODE,
        "relation_name": "data",
        "exclude_list": "data",
        "replace_list": "entry",
        "columns": "data",
        "expr": "expression",
        "qualified_exclude_list": "data",
        "rename_list": "data",
    },
    "BETWEEN": {**_NODE, "input": "expression", "lower": "expression", "upper": "expression"},
    "CASE": {**_NODE, "case_checks": "case check", "else_expr": "expression"},
    "CAST": {**_NODE, "child": "expression", "cast_type": "type", "try_cast": "data"},
    "COLLATE": {**_NODE, "child": "expression", "collation": "data"},
    "COMPARISON": {**_NODE, "left": "expression", "right": "expression"},
    "CONJUNCTION": {**_NODE, "children": "expression"},
    "OPERATOR": {**_NODE, "children": "expression"},
    "LAMBDA": {**_NODE, "lhs": "expression", "expr": "expression"},
    "FUNCTION": {
        **_NODE,
        "function_name": "data",
        "schema": "data",
        "children": "expression",
        "filter": "expression",
        "order_bys": "modifier",
        "distinct": "data",
        "is_operator": "data",
        "export_state": "nothing",
        "catalog": "nothing",
    },
    "SUBQUERY": {
        **_NODE,
        "subquery_type": "data",
        "subquery": "statement",
        "child": "expression",
        "comparison_type": "data",
    },
    "WINDOW": {
        **_NODE,
        "function_name": "data",
        "schema": "data",
        "catalog": "nothing",
        "children": "expression",
        "partitions": "expression",
        "orders": "order",
        "start": "data",
        "end": "data",
        "start_expr": "expression",
        "end_expr": "expression",
        "offset_expr": "expression",
        "default_expr": "expression",
        "ignore_nulls": "data",
        "filter_expr": "expression",
        "exclude_clause": "data",
        "distinct": "data",
        "arg_orders": "order",
    },
}

MODIFIERS: dict[str, Shape] = {
    "ORDER_MODIFIER": {"type": "data", "orders": "order"},
    "LIMIT_MODIFIER": {"type": "data", "limit": "expression", "offset": "expression"},
    "LIMIT_PERCENT_MODIFIER": {"type": "data", "limit": "expression", "offset": "expression"},
    "DISTINCT_MODIFIER": {"type": "data", "distinct_on_targets": "expression"},
}

CTE: Shape = {
    "aliases": "data",
    "query": "statement",
    "materialized": "data",
    "key_targets": "expression",
}

PLAIN: dict[Kind, Shape] = {
    "statement": {"node": "query", "named_param_map": "data"},
    "order": {"type": "data", "null_order": "data", "expression": "expression"},
    "case check": {"when_expr": "expression", "then_expr": "expression"},
    "sample": {
        "sample_size": "constant",
        "is_percentage": "data",
        "method": "data",
        "seed": "data",
    },
    "entry": {"key": "data", "value": "expression"},
}
