package cli

import (
	"math"
	"runtime/debug"
)

// briefHeap is the heap size up to which a short command that reads much (support) uses memory rather than spend time on
// garbage collection.
const briefHeap = 768 << 20

// hurry collects garbage less often, unless the environment has set a limit.
func hurry() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(briefHeap)
		debug.SetGCPercent(400)
	}
}

// lean keeps the memory of a command that may run beside many others (lint) small, unless the environment has set a
// limit: most of what lint keeps has no pointers, so collecting garbage often costs little.
func lean() {
	forgetStart()
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetGCPercent(25)
	}
}
