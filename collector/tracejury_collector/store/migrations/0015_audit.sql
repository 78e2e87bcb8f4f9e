-- Who changed what over the API: appended to, never changed. Keys themselves stand in a file apart.
CREATE TABLE base.audit (
    audit_id VARCHAR NOT NULL,
    created_at TIMESTAMP_NS NOT NULL,
    key_id VARCHAR,
    key_name VARCHAR,
    project VARCHAR,
    method VARCHAR NOT NULL,
    route VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    status INTEGER NOT NULL
);

CREATE VIEW main.audit AS
SELECT
    audit_id, created_at, key_id, key_name, project, method, route, target, status,
    CASE
        WHEN status < 400 THEN 'done' WHEN status IN (401, 403) THEN 'refused' ELSE 'failed'
    END AS outcome
FROM base.audit;

COMMENT ON VIEW main.audit IS 'Changes over the API, and what a key was not allowed to change.';
