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

COMMENT ON VIEW main.audit IS 'Who changed what over the API, and who tried to.';
COMMENT ON COLUMN main.audit.audit_id IS 'Its id.';
COMMENT ON COLUMN main.audit.created_at IS 'When it was answered (UTC).';
COMMENT ON COLUMN main.audit.key_id IS 'The id of the caller''s key; NULL: the service had no keys.';
COMMENT ON COLUMN main.audit.key_name IS 'The name of that key; NULL: the service had no keys.';
COMMENT ON COLUMN main.audit.project IS 'The project that the key is bound to; NULL: to none.';
COMMENT ON COLUMN main.audit.method IS 'POST, PUT or DELETE.';
COMMENT ON COLUMN main.audit.route IS 'What was called, such as /api/rules/{name}.';
COMMENT ON COLUMN main.audit.target IS 'The path as it was called, cut to 500 characters.';
COMMENT ON COLUMN main.audit.status IS 'The HTTP status of the answer.';
COMMENT ON COLUMN main.audit.outcome IS 'done, refused (not for that key) or failed.';
