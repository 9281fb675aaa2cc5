package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest"
)

// A guest's boot interprets what a stranger wrote. Bounds keep it from harm; where
// one is missing, the supervisor dies while the guest boots, and would again at each
// start. So a boot leaves a mark on the disk for as long as it lasts, and a guest
// with the mark of a dead supervisor is a suspect: it is not booted any more after
// maxDeaths deaths from within, or one that was clearly its own. A supervisor that was
// ended from outside, by a user or with the machine, says nothing about a guest.
// Suspects of a death from within begin one after the other, so that the next death
// has one alone.
type bootMark struct {
	// Deaths counts the supervisors that died from within while the guest booted,
	// this one included for as long as it lives.
	Deaths int `json:"strikes"`
	// Process says which one it was last.
	Process string `json:"conductor"`
	// Crash is the file to which the Go runtime writes why that one died.
	Crash string `json:"crash,omitempty"`
	// OutOfMemory counts the processes that the kernel had ended for want of memory
	// when the boot began.
	OutOfMemory int64 `json:"outOfMemory,omitempty"`
	// Quarantine is why the guest is not booted any more, or nothing.
	Quarantine string `json:"quarantine,omitempty"`
}

// maxDeaths is how many supervisors may die from within while a guest boots.
const maxDeaths = 3

// suspectLead is how long a suspect boots before the next one begins; it harms
// within moments. suspectWait bounds the wait for that.
const (
	suspectLead = 3 * time.Second
	suspectWait = 30 * time.Second
)

// errQuarantine is of a guest that is not booted.
var errQuarantine = errors.New("the guest is in quarantine")

// broken reports whether an error means that a guest cannot run on this computer until a
// user acts.
func broken(err error) bool { return errors.Is(err, errQuarantine) || errors.Is(err, guest.ErrDamaged) }

// thisProcess distinguishes this process from those before it.
var thisProcess = fmt.Sprintf("%d at %s", os.Getpid(), time.Now().Format(time.RFC3339Nano))

func (m *Host) markFile(id string) string { return filepath.Join(m.home(id), "booting.json") }

func (m *Host) readMark(id string) (bootMark, bool) {
	var mark bootMark
	data, err := os.ReadFile(m.markFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return mark, false
	}
	if err != nil || json.Unmarshal(data, &mark) != nil {
		return bootMark{Deaths: 1}, true // cut off while it was written
	}
	return mark, true
}

func (m *Host) writeMark(id string, mark bootMark) error {
	data, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	return os.WriteFile(m.markFile(id), data, 0o600)
}

// beginBoot marks that a guest boots. The error is one of a guest in quarantine.
// done is called when the boot has ended, well or not.
func (m *Host) beginBoot(ctx context.Context, id string) (done func(), err error) {
	mark, suspect := m.readMark(id)
	suspect = suspect && mark.Process != thisProcess
	if suspect && !m.fromWithin(mark) {
		mark.Deaths = max(0, mark.Deaths-1)
	}
	if suspect && mark.Quarantine == "" {
		if mark.Quarantine = m.judge(mark); mark.Quarantine != "" {
			if err := m.writeMark(id, mark); err != nil {
				return nil, err
			}
		}
	}
	if mark.Quarantine != "" {
		return nil, fmt.Errorf("%w and not booted: %s; delete the VM, or start it again through Azure to try once more",
			errQuarantine, mark.Quarantine)
	}
	if suspect && diedBy(mark.Crash) != "" {
		m.awaitSuspects(ctx)
	}
	if mark.Process != thisProcess {
		mark.Deaths++
	}
	mark.Process, mark.OutOfMemory, mark.Crash = thisProcess, outOfMemory(), m.crash
	if err := m.writeMark(id, mark); err != nil {
		return nil, err
	}
	return func() {
		if err := os.Remove(m.markFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.config.Log.Error(err, "a guest's mark of booting stays")
		}
	}, nil
}

// awaitSuspects returns when the suspect before has had its lead.
func (m *Host) awaitSuspects(ctx context.Context) {
	wait := time.NewTimer(suspectWait)
	defer wait.Stop()
	select {
	case m.suspects <- struct{}{}:
		time.AfterFunc(suspectLead, func() { <-m.suspects })
	case <-wait.C:
	case <-ctx.Done():
	}
}

// fromWithin reports whether the supervisor of a mark ended by itself, or the kernel may
// have ended it because memory was exhausted.
func (m *Host) fromWithin(mark bootMark) bool {
	return diedBy(mark.Crash) != "" || outOfMemory() > mark.OutOfMemory
}

// outOfMemory returns how many processes the kernel has killed for lack of memory since
// this computer started; 0 if the kernel does not report it.
func outOfMemory() int64 {
	data, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
			return n
		}
	}
	return 0
}

// judge returns why a guest that a supervisor died with goes into quarantine, or nothing.
func (m *Host) judge(mark bootMark) string {
	died := diedBy(mark.Crash)
	marks, _ := filepath.Glob(filepath.Join(m.config.Dir, "vms", "*", "*", "booting.json")) // the pattern is good
	switch {
	case died != "" && len(marks) == 1:
		return fmt.Sprintf("the plane died while this guest alone booted (%s)", died)
	case mark.Deaths >= maxDeaths:
		return fmt.Sprintf("the plane died %d times while this guest booted", mark.Deaths)
	}
	return ""
}

// forgive takes a guest out of quarantine.
func (m *Host) forgive(id string) {
	if err := os.Remove(m.markFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.config.Log.Error(err, "a guest stays in quarantine")
	}
}

// keptCrashes is how many files of processes that died from within are kept.
const keptCrashes = 5

// recordCrash lets the Go runtime write why this process dies to a file of its own,
// whichever way the process was started and wherever its standard error goes. It removes
// the files of processes that ended otherwise.
func (m *Host) recordCrash() (file string) {
	dir := filepath.Join(m.config.Dir, "crashes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.config.Log.Error(err, "a guest that ends this process will not be found by that")
		return ""
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is good
	slices.Sort(old)
	old = slices.DeleteFunc(old, func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() == 0 && os.Remove(file) == nil
	})
	for len(old) >= keptCrashes {
		_ = os.Remove(old[0]) // or it stays
		old = old[1:]
	}
	file = filepath.Join(dir, time.Now().UTC().Format("20060102T150405.000000000")+"-"+strconv.Itoa(os.Getpid()))
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		defer f.Close()
		err = debug.SetCrashOutput(f, debug.CrashOptions{})
	}
	if err != nil {
		m.config.Log.Error(err, "a guest that ends this process will not be found by that")
	}
	return file
}

// endCrash removes the file of a process that ends well.
func (m *Host) endCrash() {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // nil is always taken
	_ = os.Remove(m.crash)                              // an empty one stays without harm
}

// diedBy returns what the Go runtime wrote about a crash to a file; "" for a process that
// was killed or has ended.
func diedBy(file string) string {
	data, err := os.ReadFile(file)
	if err != nil || len(data) == 0 {
		return ""
	}
	for line := range bytes.Lines(data) {
		for _, sign := range []string{"fatal error: ", "panic: ", "runtime: out of memory", "runtime: goroutine stack exceeds"} {
			if bytes.HasPrefix(line, []byte(sign)) {
				return string(bytes.TrimSpace(line[:min(len(line), 120)]))
			}
		}
	}
	return "a fatal error of the Go runtime"
}
