SELECT {{.Columns}}
FROM cursors
WHERE name IN {names:Array(String)}
ORDER BY name, updated_at DESC
LIMIT 1 BY name
