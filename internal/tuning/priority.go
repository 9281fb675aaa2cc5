package tuning

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// background is the priority of a busy controller manager, a tenth of the weight of other programs
// (setpriority(2)). With hundreds of nodes its controllers go over all of them at each change of one. A
// pass that waits serves all changes until it begins, so that there are fewer passes. In a small cluster,
// where nodes wait for its answers, a controller manager is not busy and keeps its priority.
const background = 10

// yields is the environment variable of a program that gets the priority background when it is busy.
const yields = "CASEMENT_YIELD"

// busy is the part of a processor from which on a program is busy.
const busy = 0.2

// followBusy gives this process the priority background when it has been busy for a period. It keeps it: without privileges
// a process cannot take it back. It gives it again at the end of each period after that, for the threads that yield missed.
func followBusy() {
	if os.Getenv(yields) == "" {
		return
	}
	os.Unsetenv(yields)
	go func() {
		before, wasBusy := processorTime(), false
		for range time.Tick(period) {
			now := processorTime()
			wasBusy = wasBusy || isBusy(now-before)
			if wasBusy {
				_ = yield() // without it the program only costs more
			}
			before = now
		}
	}()
}

// isBusy reports whether a process is busy that used a processor for a time of a period.
func isBusy(used time.Duration) bool { return used.Seconds() > busy*period.Seconds() }

// yield gives all threads of this process's group the priority background. A program of a plane is alone in its group. The
// system call misses a thread that starts at that moment: it has its parent's priority from before, and is not in the group yet.
func yield() error { return unix.Setpriority(unix.PRIO_PGRP, 0, background) }

// processorTime returns how long this process has used a processor, 0 where that is not known.
func processorTime() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
