SELECT ...
FROM candidates
WHERE inserted_at >= {after:DateTime64(6, 'UTC')} AND inserted_at <= {until:DateTime64(6, 'UTC')}
  AND (inserted_at, inference_id) > ({after:DateTime64(6, 'UTC')}, {after_id:String})
ORDER BY inserted_at, inference_id
LIMIT {limit:UInt32}
