package rules

import (
	"regexp"
	"strings"
)

// milli matches a quantity in thousandths, which is almost always meant to be mebibytes.
var milli = regexp.MustCompile(`^([1-9][0-9]*)m$`)

// withLimits returns a Windows pod whose container has limits.
func withLimits(lines ...string) string {
	return windowsPod + container + "    resources:\n      limits:\n        " + strings.Join(lines, "\n        ") + "\n"
}
