SELECT DISTINCT id_hash FROM deleted_ids WHERE id_hash IN {ids:Array(String)}
