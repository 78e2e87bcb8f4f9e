-- Bytes of the file's blocks, all of them and those in use; spans, and places that rows of spans
-- take, those included that were deleted from among others and are not written anew yet.
SELECT
    s.total_blocks * s.block_size AS total_bytes,
    s.used_blocks * s.block_size AS used_bytes,
    (SELECT count(*) FROM base.spans) AS spans,
    (
        SELECT estimated_size FROM duckdb_tables()
        WHERE database_name = $catalog AND schema_name = 'base' AND table_name = 'spans'
    ) AS places
FROM pragma_database_size() AS s
WHERE s.database_name = $catalog
