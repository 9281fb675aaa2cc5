package engine

func IdsOf(records []*Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}
