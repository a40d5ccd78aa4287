{{distributed "deletions" "cityHash64(deletion_id)"}}
