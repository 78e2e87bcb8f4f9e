-- Traces by where they begin (a JSON array of numbers).
t.first_seq IN (SELECT value::BIGINT FROM json_each($first_seqs))
