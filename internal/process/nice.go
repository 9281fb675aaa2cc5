package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// addNice makes the calling thread nicer, which programs that it starts inherit. A goroutine that calls it is locked to
// its thread.
func addNice(by int) error {
	// The system call returns 20 less the nice value (getpriority(2)).
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return fmt.Errorf("get the nice value: %w", err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, 20-raw+by); err != nil {
		return fmt.Errorf("set the nice value: %w", err)
	}
	return nil
}
