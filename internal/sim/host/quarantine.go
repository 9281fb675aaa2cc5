package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest"
)

// bootMark is written to the disk for as long as a guest boots. A boot interprets the input of strangers.
// Limits should contain it; where one is missing, the supervisor dies during the boot, and would die again
// at each start.
//
// A guest with the mark of a dead supervisor is a suspect. It is not booted any more after maxDeaths deaths
// from within, or after one that it clearly caused. A supervisor that was ended from outside, by a user or
// with the machine, says nothing about a guest. Suspects boot one after the other, so that only one of them
// can cause the next death.
//
// A session, a static pod or a kubelet may end the process as well, long after the boot. All goroutines of
// a guest have its ID as a label, which the Go runtime writes beside the goroutine that died (culprit):
// that guest has a mark when the next process starts.
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

func (h *Host) markFile(id string) string { return filepath.Join(h.home(id), "booting.json") }

func (h *Host) readMark(id string) (bootMark, bool) {
	var mark bootMark
	data, err := os.ReadFile(h.markFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return mark, false
	}
	if err != nil || json.Unmarshal(data, &mark) != nil {
		return bootMark{Deaths: 1}, true // cut off while it was written
	}
	return mark, true
}

func (h *Host) writeMark(id string, mark bootMark) error {
	data, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	return os.WriteFile(h.markFile(id), data, 0o600)
}

// beginBoot marks that a guest boots. The error says that the guest is in quarantine. The caller calls done
// when the boot has ended, even with an error.
func (h *Host) beginBoot(ctx context.Context, id string) (done func(), err error) {
	mark, suspect := h.readMark(id)
	suspect = suspect && mark.Process != thisProcess
	within := h.fromWithin(id, mark)
	if suspect && !within {
		mark.Deaths = max(0, mark.Deaths-1)
	}
	if suspect && within && mark.Quarantine == "" {
		if mark.Quarantine = h.judge(mark); mark.Quarantine != "" {
			if err := h.writeMark(id, mark); err != nil {
				return nil, err
			}
		}
	}
	if mark.Quarantine != "" {
		return nil, fmt.Errorf("%w and not booted: %s; delete the VM, or start it again through Azure to try once more",
			errQuarantine, mark.Quarantine)
	}
	if suspect && diedBy(mark.Crash).why != "" {
		h.awaitSuspects(ctx)
	}
	if mark.Process != thisProcess {
		mark.Deaths++
	}
	mark.Process, mark.OutOfMemory, mark.Crash = thisProcess, outOfMemory(), h.crash
	if err := h.writeMark(id, mark); err != nil {
		return nil, err
	}
	return func() {
		if err := os.Remove(h.markFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.config.Log.Error(err, "a guest's mark of booting stays")
		}
	}, nil
}

// awaitSuspects returns when the suspect before has had its lead.
func (h *Host) awaitSuspects(ctx context.Context) {
	wait := time.NewTimer(suspectWait)
	defer wait.Stop()
	select {
	case h.suspects <- struct{}{}:
		time.AfterFunc(suspectLead, func() { <-h.suspects })
	case <-wait.C:
	case <-ctx.Done():
	}
}

// fromWithin reports whether the supervisor of a guest's mark ended by itself, and not in
// another guest, or the kernel may have ended it because memory was exhausted.
func (h *Host) fromWithin(id string, mark bootMark) bool {
	died := diedBy(mark.Crash)
	if died.guest != "" {
		return died.guest == machineKey(id)
	}
	return died.why != "" || outOfMemory() > mark.OutOfMemory
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
func (h *Host) judge(mark bootMark) string {
	died := diedBy(mark.Crash).why
	marks, _ := filepath.Glob(filepath.Join(h.config.Dir, "vms", "*", "*", "booting.json")) // the pattern is good
	switch {
	case died != "" && len(marks) == 1:
		return fmt.Sprintf("the plane died while this guest alone booted (%s)", died)
	case mark.Deaths >= maxDeaths:
		return fmt.Sprintf("the plane died %d times while this guest booted", mark.Deaths)
	}
	return ""
}

// forgive takes a guest out of quarantine.
func (h *Host) forgive(id string) {
	if err := os.Remove(h.markFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.config.Log.Error(err, "a guest stays in quarantine")
	}
}

// keptCrashes is how many files of processes that died from within are kept.
const keptCrashes = 5

// recordCrash lets the Go runtime write why this process dies to a file of its own,
// whichever way the process was started and wherever its standard error goes. It removes
// the files of processes that ended otherwise.
func (h *Host) recordCrash() (file string) {
	dir := filepath.Join(h.config.Dir, "crashes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.config.Log.Error(err, "a guest that ends this process will not be found by that")
		return ""
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is good
	slices.Sort(old)
	old = slices.DeleteFunc(old, func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() == 0 && os.Remove(file) == nil
	})
	for _, file := range old {
		h.accuse(file)
	}
	for len(old) >= keptCrashes {
		_ = os.Remove(old[0]) // or it stays
		old = old[1:]
	}
	file = filepath.Join(dir, time.Now().UTC().Format("20060102T150405.000000000")+"-"+strconv.Itoa(os.Getpid()))
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		defer f.Close()
		err = errors.Join(debug.SetCrashOutput(f, debug.CrashOptions{}), showLabels())
	}
	if err != nil {
		h.config.Log.Error(err, "a guest that ends this process will not be found by that")
	}
	return file
}

// endCrash removes the file of a process that ends well.
func (h *Host) endCrash() {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // nil is always taken
	_ = os.Remove(h.crash)                              // an empty one stays without harm
}

// showLabels lets the Go runtime write the labels of goroutines (tracebacklabels of
// pkg.go.dev/runtime). It reads GODEBUG again when it is set.
func showLabels() error {
	const setting = "tracebacklabels=1"
	value := os.Getenv("GODEBUG")
	if strings.Contains(value, setting) {
		return nil
	}
	return os.Setenv("GODEBUG", strings.TrimPrefix(value+","+setting, ","))
}

// guestLabel is the label by which the goroutines of a guest have its ID.
const guestLabel = "guest"

// as runs f for a guest: its goroutine, and all that it starts, have the guest's label meanwhile.
func as(ctx context.Context, id string, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(guestLabel, machineKey(id)), f)
}

// judged ends the file of a crash whose guest has its mark: it is no news to the next
// process, after a user has started the guest again.
const judged = "\ncasement: the guest has its mark\n"

// accuse puts the guest in which an earlier process died into quarantine.
func (h *Host) accuse(file string) {
	died := diedBy(file)
	if died.guest == "" || died.judged {
		return
	}
	if _, err := os.Stat(h.home(died.guest)); err == nil {
		mark, _ := h.readMark(died.guest)
		mark.Quarantine = cmp.Or(mark.Quarantine, fmt.Sprintf("the plane died by what this guest ran (%s)", died.why))
		if err := h.writeMark(died.guest, mark); err != nil {
			h.config.Log.Error(err, "a guest that ended the process is started again", "vm", died.guest)
			return
		}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(judged)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		h.config.Log.Error(err, "a crash is judged again")
	}
}

// death is how a process died.
type death struct {
	why    string // "" for a process that was killed or has ended
	guest  string // whose goroutine it was, "" if unknown
	judged bool
}

// dead matches the header of the goroutine that died: the first in the file, unless none
// ran.
var dead = regexp.MustCompile(`(?m)^goroutine .*\[(.*)\]:$`)

var labelled = regexp.MustCompile(`^running\b.* labels:\{(?:.*, )?"` + guestLabel + `": ("(?:[^"\\]|\\.)*")`)

// maxCrash bounds how much of a crash is read: its begin and its end.
const maxCrash = 1 << 20

// diedBy returns the cause of a crash from the file that the Go runtime wrote.
func diedBy(file string) (d death) {
	f, err := os.Open(file)
	if err != nil {
		return d
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCrash))
	if err != nil || len(data) == 0 {
		return d
	}
	tail := make([]byte, len(judged))
	if info, err := f.Stat(); err == nil && info.Size() > int64(len(tail)) {
		_, err = f.ReadAt(tail, info.Size()-int64(len(tail)))
		d.judged = err == nil && string(tail) == judged
	}
	if header := dead.FindSubmatch(data); header != nil {
		if label := labelled.FindSubmatch(header[1]); label != nil {
			d.guest, _ = strconv.Unquote(string(label[1])) // "" without a label of the runtime
		}
	}
	d.why = why(data)
	return d
}

// functions of the runtime that end a process, by why: the runtime prints the words only to
// standard error (startpanic of runtime/panic.go).
var functions = []struct{ name, why string }{
	{"\nruntime.newstack(", "stack overflow"},
	{"\nruntime.sysMapOS(", "out of memory"},
	{"\nruntime.sysUsedOS(", "out of memory"},
	{"\nruntime.(*mheap).", "out of memory"},
	{"\nruntime.mallocgc(", "out of memory"},
	{"\ninternal/runtime/maps.fatal(", "concurrent map access"},
}

// why returns in a few words why a process died.
func why(crash []byte) string {
	for line := range bytes.Lines(crash) {
		for _, sign := range []string{"fatal error: ", "panic: "} {
			if bytes.HasPrefix(line, []byte(sign)) {
				return string(bytes.TrimSpace(line[:min(len(line), 120)]))
			}
		}
	}
	one, _, _ := bytes.Cut(crash, []byte("\ncreated by "))
	for _, f := range functions {
		if bytes.Contains(one, []byte(f.name)) {
			return "fatal error: " + f.why
		}
	}
	return "a fatal error of the Go runtime"
}
