INSERT INTO `schema_migrations` (`version`, `name`, `checksum`, `cluster`)
