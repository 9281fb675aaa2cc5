package engine

// Place is a region as the list of locations shows it.
type Place struct {
	Display, Geography, Group, Physical, Pair string
	Latitude, Longitude                       string
	// Zonal regions have availability zones.
	Zonal bool
}

// Places are the regions that the local Azure knows.
// Source: https://learn.microsoft.com/azure/reliability/regions-list.
var Places = map[string]Place{
	"westeurope":  {"West Europe", "Europe", "Europe", "Netherlands", "northeurope", "52.3667", "4.9", true},
	"northeurope": {"North Europe", "Europe", "Europe", "Ireland", "westeurope", "53.3478", "-6.2597", true},
	"eastus":      {"East US", "United States", "US", "Virginia", "westus", "37.3719", "-79.8164", true},
	"eastus2":     {"East US 2", "United States", "US", "Virginia", "centralus", "36.6681", "-78.3889", true},
	"westus2":     {"West US 2", "United States", "US", "Washington", "westcentralus", "47.233", "-119.852", true},
	"westus":      {"West US", "United States", "US", "California", "eastus", "37.783", "-122.417", false},
}
