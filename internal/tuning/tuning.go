// Package tuning configures the local plane's programs for a machine that they share: the growth of a heap between two
// garbage collections, the number of processors of a program, the programs with a lower priority, and the programs that
// watch files.
//
// A heap grows much while the machine has memory to spare, because garbage collections are a tenth of a plane's cost,
// and little when memory is scarce. There is no fixed limit: a limit below the need of a program makes it collect
// garbage all the time. A program uses half the processors, because several are busy at the same time.
//
// It does not free memory that is in use, and the user's environment overrides it. Of the project it imports
// internal/inotify; internal/kubeproc, internal/sim/host, internal/plane, its supervisor and cmd/casement-kube may
// import it.
package tuning

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"casement.dev/casement/internal/inotify"
)

// The growth in per cent. Go's default is 100.
const (
	// Roomy is the growth for a program of a plane on a machine with memory to spare.
	Roomy = 200
	// controllers is the growth for a controller manager: its passes over all nodes and pods leave much
	// garbage, and its heap is small.
	controllers = 400
	// starting is the growth for every program while its packages are initialised: a collection of a small heap mostly
	// waits for threads.
	starting = 800
	// scarce is the growth for every program when memory is scarce.
	scarce = 50
)

// Memory is to spare while less than spare of the machine's memory is in use, and scarce from scarceFrom on. Between
// them the growth decreases linearly.
const (
	spare      = 0.25
	scarceFrom = 0.75
)

// period is the interval at which a program checks the machine's memory; step is the change, in per cent, below which
// it keeps its growth.
const (
	period = 10 * time.Second
	step   = 10
)

// variable is the environment variable with a program's growth on a machine with memory to spare. If it is set, GOGC is
// the growth at the start and not the user's setting.
const variable = "CASEMENT_HEAP_GROWTH"

// processors is the number of processors of each program of a plane: half of those that this process had at its start,
// and at least one. With all of them, the threads of a program wake each other and find no work: on two processors, a
// cluster of three nodes then costs a sixth more, and is ready later.
var processors = max(1, runtime.GOMAXPROCS(0)/2)

// Env returns the environment with which a program of Kubernetes is tuned as Follow tunes this process, except for
// settings in the environment of this process.
func Env(program string) []string {
	growth, manager := Roomy, program == "kube-controller-manager"
	if manager {
		growth = controllers
	}
	env := Starting(growth)
	if !setProcessors() {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(processors))
	}
	if manager {
		env = append(env, yields+"=1")
	}
	if usage := inotify.Now(); usage.Scarce() {
		env = append(env, inotify.Marker+"="+usage.String())
	}
	return env
}

// Starting returns the environment of a program that calls Follow or FollowEnv, for few garbage collections until then;
// it is empty if the user has settings.
func Starting(growth int) []string {
	if set() {
		return nil
	}
	return []string{variable + "=" + strconv.Itoa(growth), "GOGC=" + strconv.Itoa(by(starting))}
}

// setProcessors reports whether the user has set the number of processors.
func setProcessors() bool { return os.Getenv("GOMAXPROCS") != "" }

// set reports whether the user has set the garbage collection.
func set() bool {
	return os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" && os.Getenv(variable) == ""
}

// FollowEnv follows the machine's memory and this process's processor time as configured by Env; without its variables
// it does nothing. The runtime itself follows GOMAXPROCS.
func FollowEnv() {
	followBusy()
	if growth, err := strconv.Atoi(os.Getenv(variable)); err == nil && growth > 0 {
		follow(growth)
	}
}

// Follow limits this process to its share of the processors, and from now on lets its heap grow by growth per cent
// while the machine has memory to spare, and by less when memory is scarce. Settings in the environment take
// precedence.
func Follow(growth int) {
	if !setProcessors() {
		runtime.GOMAXPROCS(processors)
	}
	follow(growth)
}

func follow(growth int) {
	if set() {
		return
	}
	// Programs that this process starts get their own growth.
	os.Unsetenv("GOGC")
	os.Unsetenv(variable)
	now := by(growth)
	debug.SetGCPercent(now)
	go func() {
		for range time.Tick(period) {
			if next := by(growth); next <= now-step || next >= now+step {
				now = next
				debug.SetGCPercent(now)
			}
		}
	}()
}

// by returns the growth for the machine's current memory; Go's default if that is not known.
func by(growth int) int {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 100
	}
	memory, err := proc.Meminfo()
	if err != nil || memory.MemTotal == nil || memory.MemAvailable == nil || *memory.MemTotal == 0 {
		return 100
	}
	return forTaken(growth, 1-float64(*memory.MemAvailable)/float64(*memory.MemTotal))
}

// forTaken returns the growth if a part of the machine's memory is in use.
func forTaken(growth int, taken float64) int {
	left := min(max((scarceFrom-taken)/(scarceFrom-spare), 0), 1)
	return scarce + int(left*float64(growth-scarce))
}
