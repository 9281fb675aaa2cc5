package engine

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/value"
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

// isPlace reports whether a location is a region of Azure. It also accepts Azure's early regions
// and regions of its other clouds, which the table does not contain.
func isPlace(location string) bool {
	_, known := Places[location]
	return known || location == "global" || strings.HasSuffix(location, "euap") || strings.HasSuffix(location, "stage") ||
		slices.ContainsFunc([]string{"usgov", "usdod", "ussec", "usnat", "china"},
			func(of string) bool { return strings.HasPrefix(location, of) })
}

// CheckPlace returns an error if a location is no region. of is a resource type, or "" for a
// resource group.
func CheckPlace(location, of string) *Error {
	if isPlace(Region(location)) {
		return nil
	}
	if of == "" {
		return BadRequest("LocationNotAvailableForResourceGroup", "The provided location '%s' is not available for resource group. List of "+
			"available regions is '%s'.", location, strings.Join(value.SortedKeys(Places), ","))
	}
	return errNotInLocation(location, of, value.SortedKeys(Places))
}

// errNotInLocation returns the error for a resource type that is not available in a location.
func errNotInLocation(location, of string, regions []string) *Error {
	return BadRequest("LocationNotAvailableForResourceType", "The provided location '%s' is not available for resource type '%s'. List of "+
		"available regions for the resource type is '%s'.", location, of, strings.Join(regions, ","))
}

// checkZones returns an error for a zone that no region has. The providers check whether the
// resource's own region has the zone.
func checkZones(id ID, body value.Object) *Error {
	for _, zone := range value.Texts(body, "zones") {
		if !slices.Contains([]string{"1", "2", "3"}, zone) {
			return BadRequest("AvailabilityZoneNotSupported", "The zone(s) '%s' for resource '%s/%s' is not supported. The supported zones "+
				"for location '%s' are '1,2,3'", zone, id.FullType(), id.Name(), value.Str(body, "location"))
		}
	}
	return nil
}

// readPlaces parses the embedded table. It panics on an invalid row; any test finds that.
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
