package check

import (
	"math"
	"runtime/debug"
)

// lean keeps the memory of a command that may run beside many others (lint) small, unless the environment
// has set a limit: most of lint's memory has no pointers, so that frequent garbage collections are cheap.
func lean() {
	forgetStart()
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetGCPercent(25)
	}
}
