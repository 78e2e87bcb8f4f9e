DELETE FROM base.exports WHERE name = ?
