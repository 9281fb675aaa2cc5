package catalog

import "regexp"

// retirements are the series of sizes whose machines Azure stops, with the announced date. Source:
// https://learn.microsoft.com/azure/virtual-machines/sizes/retirement/retired-sizes-list.
var retirements = []struct {
	sizes *regexp.Regexp
	day   string
}{
	{regexp.MustCompile(`(?i)^Standard_NC24rs_v3$`), "2025-03-31"},
	{regexp.MustCompile(`(?i)^Standard_NC\d+s_v3$`), "2025-09-30"},
	{regexp.MustCompile(`(?i)^Standard_DC\d+s_v2$`), "2026-06-30"},
	{regexp.MustCompile(`(?i)^Standard_NV\d+a?s_v[34]$`), "2026-09-30"},
}

// RetiredOn returns the date, as 2006-01-02, from which on Azure starts no machines of a size; "" for a size that is
// not retired.
func RetiredOn(size string) string {
	for _, r := range retirements {
		if r.sizes.MatchString(size) {
			return r.day
		}
	}
	return ""
}
