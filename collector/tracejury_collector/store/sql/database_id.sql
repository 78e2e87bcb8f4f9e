-- When the database was made, in microseconds: what tells it from others.
SELECT epoch_us(min(applied_at)) AS made_us FROM base.schema_migrations
