package engine

import (
	_ "embed"
	"fmt"
	"strings"
)

// Place is a region as the list of locations shows it.
type Place struct {
	Display, Geography, Group, Physical string
	// Pair is the name of the paired region, or "".
	Pair                string
	Latitude, Longitude string
	// Zonal is true for regions with availability zones.
	Zonal bool
}

//go:embed regions.tsv
var regionsTSV string

// Places are Azure's regions by name.
var Places = readPlaces(regionsTSV)

// readPlaces parses the embedded table. It panics on an invalid row, which the first test finds.
func readPlaces(table string) map[string]Place {
	out := map[string]Place{}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 9 {
			panic(fmt.Sprintf("the region %q has %d fields, not 9", line, len(f)))
		}
		if _, twice := out[f[0]]; twice {
			panic(fmt.Sprintf("the region %s is there twice", f[0]))
		}
		out[f[0]] = Place{f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8] != "0"}
	}
	return out
}
