SELECT true FROM base.session_revisions AS r WHERE NOT r.superseded LIMIT 1
