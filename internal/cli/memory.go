package cli

import (
	"math"
	"runtime/debug"
)

// briefHeap is up to where a command that reads much and is over in a moment, lint or
// support, takes memory rather than the time to collect it.
const briefHeap = 768 << 20

// hurry collects garbage less often, unless the environment has set a limit.
func hurry() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(briefHeap)
		debug.SetGCPercent(400)
	}
}
