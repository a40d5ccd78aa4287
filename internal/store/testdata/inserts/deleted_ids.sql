INSERT INTO `deleted_ids` (`id_hash`, `deleted_at`)
