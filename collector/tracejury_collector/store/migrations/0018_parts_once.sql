-- What a message says is kept once: where one text is all of its parts, `parts` is the empty list
-- and the view makes it of `text`. Rows from before keep both.
CREATE OR REPLACE VIEW main.messages AS
SELECT
    * EXCLUDE (superseded, first_seq) REPLACE (
        CASE
            WHEN parts = '[]' AND text IS NOT NULL
            THEN json_array(json_object('type', 'text', 'text', text))
            ELSE parts
        END AS parts
    )
FROM base.messages
WHERE NOT superseded;

COMMENT ON VIEW main.messages IS 'Messages of finished traces, in order.';
