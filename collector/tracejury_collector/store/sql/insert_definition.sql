INSERT INTO base.definitions BY NAME
SELECT
    coalesce(max(seq), 0) + 1 AS seq, $kind AS kind, $name AS name, $source AS source,
    $state AS state, $fingerprint AS fingerprint, $identity AS identity, $body::JSON AS body,
    $seat::JSON AS seat, $note AS note, make_timestamp_ns($effective_from_ns) AS effective_from
FROM base.definitions
