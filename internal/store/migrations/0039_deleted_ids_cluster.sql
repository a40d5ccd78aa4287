{{distributed "deleted_ids" "cityHash64(id_hash)"}}
