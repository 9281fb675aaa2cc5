package kubeproc

import (
	"os"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/prometheus/procfs"
)

const (
	// collectAt is by how many per cent a heap grows between two collections of garbage,
	// where Go's default is 100: collections are a tenth of what a management plane costs.
	collectAt = 200
	// memoryShare is the part of the machine's memory from which on a process collects
	// more often all the same.
	memoryShare = 8
	// A control plane of a workload cluster that starts while at most one part in takenShare of the
	// machine's memory is taken collects at roomyAt. Others keep Go's default: fifty of them have
	// to fit.
	takenShare = 4
	roomyAt    = 200
	// A controller manager's passes over all nodes and pods leave much garbage, and its heap is small.
	controllersAt = 400
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

// Roomy returns environment variables that make a program of a workload cluster's control plane
// collect garbage less often while the machine has memory to spare.
func Roomy(program string) []string {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	memory, err := proc.Meminfo()
	if err != nil || memory.MemTotal == nil || memory.MemAvailable == nil ||
		*memory.MemTotal-*memory.MemAvailable > *memory.MemTotal/takenShare {
		return nil
	}
	at := roomyAt
	if program == "kube-controller-manager" {
		at = controllersAt
	}
	return []string{"GOGC=" + strconv.Itoa(at)}
}

// CollectLess lets this process do the same. The supervisor of a plane calls it once.
func CollectLess() {
	if collection() != nil {
		debug.SetGCPercent(collectAt)
		debug.SetMemoryLimit(limit())
	}
}
