package cli

import (
	"math"
	"runtime/debug"
)

// lintHeap is up to where lint takes memory rather than the time to collect it: it is
// over in a moment.
const lintHeap = 768 << 20

// hurry collects garbage less often, unless the environment has set a limit.
func hurry() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(lintHeap)
		debug.SetGCPercent(400)
	}
}
