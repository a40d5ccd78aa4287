package store

// DeletedTables lists the tables that a deletion reaches.
func DeletedTables() []string {
	var out []string
	for _, h := range holders() {
		out = append(out, h.table)
	}
	return out
}
