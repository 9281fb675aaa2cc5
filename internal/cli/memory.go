package cli

import (
	"math"
	"runtime/debug"
)

// briefHeap is the heap size up to which short commands that read much (lint, support) use memory rather than spend
// time on garbage collection.
const briefHeap = 768 << 20

// hurry collects garbage less often, unless the environment has set a limit.
func hurry() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(briefHeap)
		debug.SetGCPercent(400)
	}
}
