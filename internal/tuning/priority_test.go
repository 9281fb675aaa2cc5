package tuning

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestIsBusy(t *testing.T) {
	for name, c := range map[string]struct {
		used time.Duration
		want bool
	}{
		"idle":                           {100 * time.Millisecond, false},
		"it starts":                      {1500 * time.Millisecond, false},
		"as much as busy":                {period / 5, false},
		"more":                           {period/5 + time.Millisecond, true},
		"the time at its end is unknown": {-time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isBusy(c.used); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// child is the environment variable of the process that TestYield starts.
const child = "CASEMENT_TEST_YIELD"

// TestYield: all threads of a process get the priority, also those that it starts later, but its parent
// does not.
func TestYield(t *testing.T) {
	if os.Getenv(child) != "" {
		printPriorities()
		return
	}
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestYield$", "-test.v")
	cmd.Env = append(os.Environ(), child+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if value, ok := strings.CutPrefix(line, "thread: "); ok {
			got = append(got, strings.TrimSpace(value))
		}
	}
	// The system call returns 20 less the priority (getpriority(2)).
	if want := fmt.Sprint(20 - background); len(got) < 4 || slices.ContainsFunc(got, func(v string) bool { return v != want }) {
		t.Errorf("the threads have %v, want %s for each of at least four", got, want)
	}
	if after, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || after != before {
		t.Errorf("the parent has %d and had %d: %v", after, before, err)
	}
}

// printPriorities calls yield between the starts of two threads and prints the priority of each thread. It calls yield
// again while a thread has another priority, because the runtime may start threads at any time.
func printPriorities() {
	thread := func() {
		started := make(chan bool)
		go func() {
			runtime.LockOSThread()
			close(started)
			select {}
		}()
		<-started
	}
	thread()
	for again := 3; again > 0; again-- {
		if err := yield(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if slices.ContainsFunc(priorities(), func(v int) bool { return v != 20-background }) {
			again = 3
		}
	}
	thread()
	for _, priority := range priorities() {
		fmt.Println("thread:", priority)
	}
}

// priorities returns the priority of each thread of this process, as the system call reports it.
func priorities() (found []int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, task := range tasks {
		var id int
		if _, err := fmt.Sscan(task.Name(), &id); err != nil {
			continue
		}
		if priority, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil {
			found = append(found, priority)
		}
	}
	return found
}
