package recordings

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// column is a figure of a type that has a floor: the number of its calls that agree with Azure.
type column struct {
	name string
	of   func(*score) int
}

var columns = []column{
	{"statuses", func(s *score) int { return s.statuses }},
	{"codes", func(s *score) int { return s.codes }},
	{"headers", func(s *score) int { return s.headers }},
	{"bodies", func(s *score) int { return s.sameBodies }},
}

// floors returns a table of the figures of each type: the type, then its columns, separated by
// tabs.
func (r *report) floors() string {
	var out strings.Builder
	out.WriteString("# What of the representative part agrees with Azure; less fails the test, which writes " +
		"this file with -update.\n# type")
	for _, c := range columns {
		out.WriteString("\t" + c.name)
	}
	for _, typ := range slices.Sorted(maps.Keys(r.types)) {
		out.WriteString("\n" + typ)
		for _, c := range columns {
			fmt.Fprintf(&out, "\t%d", c.of(r.types[typ]))
		}
	}
	return out.String() + "\n"
}

// sunk returns the figures that are lower than in a file of floors, and the types in the file that
// are missing.
func (r *report) sunk(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	known := map[string]bool{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		fields := strings.Split(s.Text(), "\t")
		if len(fields) != 1+len(columns) {
			return nil, fmt.Errorf("%s: the line %q has not %d columns", file, s.Text(), 1+len(columns))
		}
		known[fields[0]] = true
		got := r.types[fields[0]]
		if got == nil {
			got = &score{}
		}
		for i, c := range columns {
			var floor int
			if _, err := fmt.Sscan(fields[i+1], &floor); err != nil {
				return nil, fmt.Errorf("%s: the line %q: %w", file, s.Text(), err)
			}
			if n := c.of(got); n < floor {
				out = append(out, fmt.Sprintf("%s: %d %s agree with Azure, they were %d", fields[0], n, c.name, floor))
			}
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(r.types)) {
		if !known[typ] {
			out = append(out, typ+" has no floor")
		}
	}
	return out, nil
}
