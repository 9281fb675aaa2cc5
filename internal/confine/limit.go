package confine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Bounds are the limits of a process. The kernel ends a process that exceeds CPU or File, and refuses to allocate
// memory beyond Memory.
type Bounds struct {
	// Memory limits the data of the process, in bytes. Address space that is only reserved, as Go does by the gigabyte,
	// does not count (RLIMIT_DATA, getrlimit(2)).
	Memory uint64
	// CPU is the limit of processor time in seconds.
	CPU uint64
	// File is the maximum size of a file that the process may write, in bytes.
	File uint64
}

// Apply sets the limits of this process permanently.
func (b Bounds) Apply() error {
	for resource, bound := range map[int]uint64{unix.RLIMIT_DATA: b.Memory, unix.RLIMIT_CPU: b.CPU, unix.RLIMIT_FSIZE: b.File} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: bound, Max: bound}); err != nil {
			return fmt.Errorf("bound this process (resource %d to %d): %w", resource, bound, err)
		}
	}
	return nil
}
