SELECT
    v.view_name AS view,
    coalesce(v.comment, '') AS about,
    c.column_name AS name,
    c.data_type AS type,
    coalesce(c.comment, '') AS description
FROM duckdb_views() AS v
JOIN duckdb_columns() AS c
    ON c.database_oid = v.database_oid AND c.schema_oid = v.schema_oid AND c.table_oid = v.view_oid
WHERE v.schema_name = 'main' AND NOT v.internal
ORDER BY v.view_name, c.column_index
