package check

import (
	"math"
	"runtime/debug"
)

// limitMemory keeps the memory use of a command that may run many times in parallel (lint) small, unless the environment sets
// a limit. Most of lint's memory contains no pointers, so that frequent garbage collections are cheap.
func limitMemory() {
	forgetStart()
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetGCPercent(25)
	}
}
