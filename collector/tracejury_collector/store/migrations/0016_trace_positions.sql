-- The order in which revisions of traces were committed, as results have one: whoever has seen a
-- number has seen all below it. Revisions of before there was an order come first, below zero.
CREATE SEQUENCE base.trace_positions;
ALTER TABLE base.traces ADD COLUMN position BIGINT;
ALTER TABLE base.traces ALTER COLUMN position SET DEFAULT nextval('base.trace_positions');
UPDATE base.traces SET position = rowid - 1000000000000;
