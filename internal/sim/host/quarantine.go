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

// bootMark is a file that exists while a guest boots. A boot interprets untrusted input, which
// limits should contain. Where a limit is missing, the supervisor dies during the boot, and would
// die again at each start.
//
// A guest with the mark of a dead supervisor is a suspect. It is no longer booted after maxDeaths
// deaths from within, or after a death that it clearly caused. The end of a supervisor from
// outside, by a user or with the computer, does not count. Suspects boot one after another, so that
// only one of them can cause the next death.
//
// A session, a static pod or a kubelet can also end the process long after the boot. Therefore all
// goroutines of a guest have its ID as a label, which the Go runtime writes beside the goroutine
// that died; the next process then quarantines that guest (quarantineCulprit).
type bootMark struct {
	// Deaths counts the supervisors that died from within while the guest booted; it includes the
	// current supervisor while the guest boots.
	Deaths int `json:"strikes"`
	// Process identifies the last such supervisor.
	Process string `json:"conductor"`
	// Crash is the file to which the Go runtime writes the cause of that supervisor's death.
	Crash string `json:"crash,omitempty"`
	// OutOfMemory is the number of processes that the kernel had killed for lack of memory before
	// the boot began.
	OutOfMemory int64 `json:"outOfMemory,omitempty"`
	// Quarantine is the reason why the guest is no longer booted; "" if it is booted.
	Quarantine string `json:"quarantine,omitempty"`
}

// maxDeaths is the number of deaths from within, during a guest's boot, after which the guest is
// quarantined.
const maxDeaths = 3

// suspectLead is the time after which the next suspect may boot: a harmful boot ends the process
// within moments. suspectWait is the longest wait for a turn.
const (
	suspectLead = 3 * time.Second
	suspectWait = 30 * time.Second
)

// errQuarantine is the error for a guest that is not booted because it is in quarantine.
var errQuarantine = errors.New("the guest is in quarantine")

// broken reports whether an error means that a guest cannot run on this computer until a
// user acts.
func broken(err error) bool { return errors.Is(err, errQuarantine) || errors.Is(err, guest.ErrDamaged) }

// thisProcess distinguishes this process from earlier processes.
var thisProcess = fmt.Sprintf("%d at %s", os.Getpid(), time.Now().Format(time.RFC3339Nano))

func (h *Host) markFile(id string) string { return filepath.Join(h.home(id), "booting.json") }

func (h *Host) readMark(id string) (bootMark, bool) {
	var mark bootMark
	data, err := os.ReadFile(h.markFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return mark, false
	}
	if err != nil || json.Unmarshal(data, &mark) != nil {
		return bootMark{Deaths: 1}, true // the write was interrupted
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

// beginBoot writes the mark of a guest that boots. It returns an error if the guest is in
// quarantine. The caller calls done after the boot, even if the boot failed.
func (h *Host) beginBoot(ctx context.Context, id string) (done func(), err error) {
	mark, suspect := h.readMark(id)
	suspect = suspect && mark.Process != thisProcess
	within := h.mayBeCulprit(id, mark)
	if suspect && !within {
		mark.Deaths = max(0, mark.Deaths-1)
	}
	if suspect && within && mark.Quarantine == "" {
		if mark.Quarantine = h.quarantineReason(mark); mark.Quarantine != "" {
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

// awaitSuspects waits until suspectLead has passed since the previous suspect began to boot, but at
// most suspectWait.
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

// mayBeCulprit reports whether the supervisor of a guest's mark may have died because of this guest:
// it died by itself, not in the code of another guest, or the kernel may have killed it for lack of
// memory.
func (h *Host) mayBeCulprit(id string, mark bootMark) bool {
	died := diedBy(mark.Crash)
	if died.guest != "" {
		return died.guest == machineKey(id)
	}
	return died.why != "" || outOfMemory() > mark.OutOfMemory
}

// outOfMemory returns the number of processes that the kernel has killed for lack of memory since
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

// quarantineReason returns the reason to quarantine a guest with the mark of a dead supervisor; "" for none.
func (h *Host) quarantineReason(mark bootMark) string {
	died := diedBy(mark.Crash).why
	marks, _ := filepath.Glob(filepath.Join(h.config.Dir, "vms", "*", "*", "booting.json")) // cannot fail: the pattern is valid
	switch {
	case died != "" && len(marks) == 1:
		return fmt.Sprintf("the plane died while this guest alone booted (%s)", died)
	case mark.Deaths >= maxDeaths:
		return fmt.Sprintf("the plane died %d times while this guest booted", mark.Deaths)
	}
	return ""
}

// endQuarantine ends the quarantine of a guest.
func (h *Host) endQuarantine(id string) {
	if err := os.Remove(h.markFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.config.Log.Error(err, "a guest stays in quarantine")
	}
}

// keptCrashes is the number of crash files that are kept.
const keptCrashes = 5

// recordCrash makes the Go runtime write the cause of this process's death to a file, however the
// process was started and wherever its standard error goes. It returns the file. It removes empty
// files of earlier processes and quarantines the guests that caused the others.
func (h *Host) recordCrash() (file string) {
	dir := filepath.Join(h.config.Dir, "crashes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.config.Log.Error(err, "a guest that ends this process will not be found by that")
		return ""
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*")) // cannot fail: the pattern is valid
	slices.Sort(old)
	old = slices.DeleteFunc(old, func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() == 0 && os.Remove(file) == nil
	})
	for _, file := range old {
		h.quarantineCulprit(file)
	}
	for len(old) >= keptCrashes {
		_ = os.Remove(old[0]) // if this fails, the file remains
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

// endCrash removes the file of a process that ends normally.
func (h *Host) endCrash() {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // never fails for nil
	_ = os.Remove(h.crash)                              // an empty file is harmless
}

// showLabels makes the Go runtime write the labels of goroutines (tracebacklabels of
// pkg.go.dev/runtime). The runtime reads GODEBUG again after it is set.
func showLabels() error {
	const setting = "tracebacklabels=1"
	value := os.Getenv("GODEBUG")
	if strings.Contains(value, setting) {
		return nil
	}
	return os.Setenv("GODEBUG", strings.TrimPrefix(value+","+setting, ","))
}

// guestLabel is the name of the label with a guest's ID on the guest's goroutines.
const guestLabel = "guest"

// runLabelled runs f with the guest's label on its goroutine and on all goroutines that f starts.
func runLabelled(ctx context.Context, id string, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(guestLabel, machineKey(id)), f)
}

// judged is written at the end of a crash file after the guest was quarantined. The next process
// then ignores the file, because a user may have started the guest again.
const judged = "\ncasement: the guest has its mark\n"

// quarantineCulprit quarantines the guest in whose code an earlier process died.
func (h *Host) quarantineCulprit(file string) {
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

// death describes how a process died.
type death struct {
	why    string // cause; "" for a process that was killed or has ended
	guest  string // guest of the goroutine that died, "" if unknown
	judged bool
}

// dead matches the header of the goroutine that died, which is the first in the file, unless no
// goroutine was running.
var dead = regexp.MustCompile(`(?m)^goroutine .*\[(.*)\]:$`)

var labelled = regexp.MustCompile(`^running\b.* labels:\{(?:.*, )?"` + guestLabel + `": ("(?:[^"\\]|\\.)*")`)

// maxCrash is the number of bytes that are read at the beginning of a crash file.
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
			d.guest, _ = strconv.Unquote(string(label[1])) // "" if the runtime wrote no label
		}
	}
	d.why = deathCause(data)
	return d
}

// functions are functions of the runtime that end a process, with the cause: the runtime prints the
// message only to standard error (startpanic of runtime/panic.go).
var functions = []struct{ name, why string }{
	{"\nruntime.newstack(", "stack overflow"},
	{"\nruntime.sysMapOS(", "out of memory"},
	{"\nruntime.sysUsedOS(", "out of memory"},
	{"\nruntime.(*mheap).", "out of memory"},
	{"\nruntime.mallocgc(", "out of memory"},
	{"\ninternal/runtime/maps.fatal(", "concurrent map access"},
}

// deathCause returns a short cause of a process's death.
func deathCause(crash []byte) string {
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
