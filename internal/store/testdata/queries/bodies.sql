SELECT ...
FROM inference_bodies
WHERE inference_id IN {ids:Array(String)}
LIMIT 1 BY inference_id
