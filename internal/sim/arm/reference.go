package arm

func idsOf(records []*record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}
