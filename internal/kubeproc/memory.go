package kubeproc

import (
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

const (
	// collectAt is by how many per cent a heap grows between two collections of garbage,
	// where Go's default is 100: collections are a tenth of what a management plane costs.
	collectAt = 300
	// memoryShare is the part of the machine's memory from which on a process collects
	// more often all the same.
	memoryShare = 8
)

// limit is that part in bytes, 0 where it is not known.
func limit() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit) / memoryShare
}

// collection returns environment variables that make a process of the management plane
// collect garbage less often; none if the environment of this process sets them.
func collection() []string {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || limit() == 0 {
		return nil
	}
	return []string{"GOGC=" + strconv.Itoa(collectAt), "GOMEMLIMIT=" + strconv.FormatInt(limit(), 10)}
}

// CollectLess lets this process do the same. The supervisor of a plane calls it once.
func CollectLess() {
	if collection() != nil {
		debug.SetGCPercent(collectAt)
		debug.SetMemoryLimit(limit())
	}
}
