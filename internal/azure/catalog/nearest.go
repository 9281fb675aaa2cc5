package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// suggestions is the number of similar names in a message about a wrong name.
const suggestions = 3

// nearest returns the names that are most similar to a wrong name, the most similar first.
func nearest(wrong string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var list []candidate
	for _, name := range names {
		list = append(list, candidate{name, distance(strings.ToLower(wrong), strings.ToLower(name))})
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range list[:min(suggestions, len(list))] {
		out = append(out, c.name)
	}
	return out
}

// distance returns the Levenshtein distance of a and b: the number of letters to insert, remove or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
