// Package tuning sets the local plane's programs for a machine that they share: by how much a heap grows between two
// collections of garbage, how many processors a program uses, which program gives way to the others, and which one watches
// files.
//
// A heap grows by much while the machine has memory to spare, because collections are a tenth of a plane's cost,
// and by little when memory is scarce. There is no fixed limit: a limit below the need of a program makes it collect
// garbage all the time. A program uses half the processors, because several are busy at the same time.
//
// It does not free memory that is in use, and the user's environment overrides it. Of the project it
// imports internal/inotify; internal/kubeproc, internal/sim/host, internal/plane, its supervisor and cmd/casement-kube may import it.
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
	// Roomy is the growth of a program of a plane on a machine with memory to spare.
	Roomy = 200
	// controllers is the growth for a controller manager: its passes over all nodes and pods leave much
	// garbage, and its heap is small.
	controllers = 400
	// starting is the growth for every program while its packages are initialised: a collection of a small
	// heap costs waits for threads rather than work.
	starting = 800
	// scarce is the growth of every program when memory is scarce.
	scarce = 50
)

// Memory is to spare while less than spare of the machine's is taken, and scarce from scarceFrom on. Between them
// the growth falls evenly.
const (
	spare      = 0.25
	scarceFrom = 0.75
)

// period is how often a program looks at the machine's memory, and step the change in per cent below which it
// keeps its growth.
const (
	period = 10 * time.Second
	step   = 10
)

// variable is the environment variable with a program's growth on a machine with memory to spare. Where it is set,
// GOGC is the growth at the start and not the user's.
const variable = "CASEMENT_HEAP_GROWTH"

// processors is how many processors each program of a plane uses: half of those that this process had at
// its start, and at least one. With all of them the threads of one program wake each other and find nothing
// to do: on two processors a cluster of three nodes costs a sixth more, and is ready later.
var processors = max(1, runtime.GOMAXPROCS(0)/2)

// Env returns the environment that tunes a program of Kubernetes as Follow tunes this process, except for the
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

// Starting returns the environment of a program that calls Follow or FollowEnv, with few collections of
// garbage until then; it is empty if the user has settings.
func Starting(growth int) []string {
	if set() {
		return nil
	}
	return []string{variable + "=" + strconv.Itoa(growth), "GOGC=" + strconv.Itoa(by(starting))}
}

// setProcessors reports whether the user has decided how many processors a program uses.
func setProcessors() bool { return os.Getenv("GOMAXPROCS") != "" }

// set reports whether the user has decided how garbage is collected.
func set() bool {
	return os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" && os.Getenv(variable) == ""
}

// FollowEnv follows the machine's memory and this process's processor time as Env says; without its variables it does
// nothing. The runtime itself follows GOMAXPROCS.
func FollowEnv() {
	followBusy()
	if growth, err := strconv.Atoi(os.Getenv(variable)); err == nil && growth > 0 {
		follow(growth)
	}
}

// Follow lets this process use its share of the processors and, from now on, its heap grow by a number of
// per cent while the machine has memory to spare, and by less while it has not. Settings in the environment
// come first.
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
	// Programs that this process starts get a growth of their own.
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

// by returns the growth for the machine's memory as it is now; Go's default where it is not known.
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

// forTaken returns the growth where a part of the machine's memory is taken.
func forTaken(growth int, taken float64) int {
	left := min(max((scarceFrom-taken)/(scarceFrom-spare), 0), 1)
	return scarce + int(left*float64(growth-scarce))
}
