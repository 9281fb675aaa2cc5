package staticpod

import (
	"fmt"
	"strconv"
	"strings"
)

// Embedded is the Kubernetes release ("1.37") of the programs in casement-kube. A test beside that
// program fails if an update of Kubernetes does not update it.
const Embedded = "1.37"

// emulatedReleases is the number of earlier releases that Kubernetes' programs can emulate
// (KEP-4330; tested: 1.37 accepts 1.34 and refuses 1.33).
const emulatedReleases = 3

// Emulated returns the release that runs for a requested Kubernetes version: the version's own
// release if the embedded programs can emulate it, otherwise the nearest one. exact is set in the
// first case. Only minor releases count, because no patch release can be emulated.
func Emulated(version string) (release string, exact bool) {
	if version == "" {
		return Embedded, true
	}
	asked, ok := minor(version)
	newest, _ := minor(Embedded)
	if !ok {
		return Embedded, false
	}
	runs := min(max(asked, newest-emulatedReleases), newest)
	return fmt.Sprintf("1.%d", runs), runs == asked
}

// minor returns the 37 of "v1.37.2".
func minor(version string) (int, bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 || parts[0] != "1" {
		return 0, false
	}
	n, err := strconv.Atoi(parts[1])
	return n, err == nil && n >= 0
}
