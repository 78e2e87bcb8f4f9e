-- Examples of what no dialect reads may be anyone's.
UPDATE base.unread SET example = '' WHERE example <> ''
