SELECT name, engine, engine_full, arrayMap((d, t) -> concat(d, '.', t), dependencies_database, dependencies_table)
FROM system.tables
WHERE database = {database:String} AND name IN {names:Array(String)}
