SELECT ...
FROM cursors
WHERE name = {name:String}
ORDER BY updated_at DESC
LIMIT 1
