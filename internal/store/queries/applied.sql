SELECT DISTINCT {{.Columns}}
FROM schema_migrations
ORDER BY version
