"""The only owner of the DuckDB file."""
