INSERT INTO base.renormalizations VALUES (
    $id, make_timestamp_ns($requested_ns::BIGINT), make_timestamp_ns($since_ns::BIGINT),
    make_timestamp_ns($until_ns::BIGINT), $dry_run, $first_seq, $last_seq, $next_seq, $state,
    $report, NULL, NULL
)
