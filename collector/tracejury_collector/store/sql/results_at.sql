-- Results by their places in the table (JSON).
r.rowid IN (SELECT j.value::BIGINT FROM json_each($places::JSON) AS j)
