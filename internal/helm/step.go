package helm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"casement.dev/casement/internal/confine"
	"casement.dev/casement/internal/helm/v1alpha1"
	"casement.dev/casement/internal/kubeconfig"
)

// StepName is the first argument of the program that performs one step: it fills a template of values, or installs or
// removes a release. Templates and charts are third-party code, so each step has its own process with limits.
const StepName = "chart"

// The limits of a step. Helm uses about 150 MiB for a large chart; the record of a release has to be smaller than 1
// MiB, the limit of a Secret.
const (
	stepMemory = 768 << 20
	stepCPU    = 30 // seconds
	stepFile   = 256 << 20
	stepOutput = 2 << 20
	stepTime   = 5 * time.Minute
	fillTime   = time.Minute
)

// step is the program's input on standard input.
type step struct {
	// Template, if set, is filled with Data.
	Template string
	Data     json.RawMessage
	// Release, if set, is installed in the cluster of Kubeconfig, or removed.
	Release    *v1alpha1.HelmReleaseProxySpec
	Remove     bool
	Kubeconfig []byte
	Options    Options
	Trust      trust
	// CPU is the limit of processor time in seconds; zero means stepCPU.
	CPU uint64
}

// result is the program's output on standard output.
type result struct {
	Values string
	// Made is the current release, if there is one.
	Made  *made
	Error string
	// Final is the reason in a finalError.
	Final string
}

// made is the record of a release.
type made struct {
	Name, Status string
	Revision     int
	// Note is a warning about the chart.
	Note string
}

// finalError is the error of a step that would fail in the same way again, usually because it exceeded its limits.
type finalError struct {
	what string
	// reason is the reason for a condition.
	reason string
}

func (e finalError) Error() string {
	return e.what + "; it is not tried again until its spec changes"
}

func exceeded(format string, args ...any) error {
	return finalError{what: fmt.Sprintf(format, args...), reason: v1alpha1.LimitExceededReason}
}

// Step performs the step in the document on in, within its limits, and returns the exit code.
func Step(in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var s step
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		fmt.Fprintln(errOut, "read the step:", err)
		return 1
	}
	bounds := confine.Bounds{Memory: stepMemory, CPU: cmp.Or(s.CPU, stepCPU), File: stepFile}
	if err := bounds.Apply(); err != nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	var r result
	var err error
	if s.Release == nil {
		r.Values, err = fill(s.Template, s.Data)
	} else {
		r.Made, err = s.release(ctx, errOut)
	}
	if final, ok := errors.AsType[finalError](err); ok {
		r.Error, r.Final = final.what, final.reason
	} else if err != nil {
		r.Error = err.Error()
	}
	if err := json.NewEncoder(out).Encode(r); err != nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	return 0
}

func (s step) release(ctx context.Context, errOut io.Writer) (*made, error) {
	config, err := kubeconfig.Config(s.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	config.UserAgent, config.Timeout, config.QPS, config.Burst = "casement-helm", 10*time.Second, 50, 100
	var wall *outside
	if !s.Options.OwnRepositories {
		if wall, err = newOutside(ctx, config); err != nil {
			return nil, err
		}
		if err := confine.Connections(wall.may); err != nil {
			fmt.Fprintln(errOut, "warning:", err)
		}
	}
	w, err := newWorkload(config, s.Release, s.Options, s.Trust)
	if err != nil {
		return nil, err
	}
	if s.Remove {
		return nil, w.remove()
	}
	r, err := w.apply(ctx)
	err = wall.explain(err)
	if r == nil {
		return nil, err
	}
	m := &made{Name: r.Name, Status: r.Info.Status.String(), Revision: r.Version}
	if isStub(r.Chart) {
		m.Note = r.Chart.Metadata.Description
	}
	return m, err
}

// fill executes a template of values. It has the functions of Helm's charts except those that access this process or
// its network.
func fill(text string, input []byte) (string, error) {
	var data map[string]any
	// Numbers without a fraction stay integers, as in the objects.
	if err := utiljson.Unmarshal(input, &data); err != nil {
		return "", err
	}
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	t, err := template.New("valuesTemplate").Funcs(functions).Parse(text)
	if err != nil {
		return "", fmt.Errorf("spec.valuesTemplate: %w", err)
	}
	out := &limited{left: stepOutput / 2}
	err = t.Execute(out, data)
	return out.text.String(), err
}

// limited is a writer that fails after a number of bytes.
type limited struct {
	text bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("it makes more than %d bytes", stepOutput/2)
	}
	return l.text.Write(p)
}

// run performs a step in its own process.
func (s step) run(ctx context.Context) (result, error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	input, err := json.Marshal(s)
	if err != nil {
		return result{}, err
	}
	most := stepTime
	if s.Release == nil {
		most = fillTime
	}
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(bounded, self, StepName)
	var out, errOut head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errOut
	cmd.WaitDelay = time.Second
	// The parent-death signal is sent when the thread that forked ends (prctl(2), PR_SET_PDEATHSIG).
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return result{}, ctx.Err()
	case bounded.Err() != nil:
		return result{}, exceeded("it took more than %s", most)
	case err != nil:
		return result{}, s.ended(err, errOut.String())
	}
	var r result
	if err := json.Unmarshal(out.kept, &r); err != nil {
		return result{}, exceeded("its result is not readable (%d bytes): %v", len(out.kept), err)
	}
	if r.Final != "" {
		return r, finalError{what: r.Error, reason: r.Final}
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// outOfMemory are parts of the messages of a Go program that cannot allocate memory or the stack of a thread; the last
// one is the race detector's.
var outOfMemory = []string{"out of memory", "cannot allocate memory", "pthread_create failed", "failed to allocate"}

// ended returns the reason why the program ended without a result.
func (s step) ended(err error, errOut string) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fmt.Errorf("start the program that fills templates and installs charts: %w", err)
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && (status.Signal() == syscall.SIGKILL || status.Signal() == syscall.SIGXCPU):
		return exceeded("it used more than %d s of the processor", cmp.Or(s.CPU, stepCPU))
	case strings.Contains(errOut, "file too large"):
		return exceeded("it wrote a file of more than %d MiB", stepFile>>20)
	case slices.ContainsFunc(outOfMemory, func(text string) bool { return strings.Contains(errOut, text) }):
		return exceeded("it used more than %d MiB of memory", stepMemory>>20)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(errOut), "\n")
	return exceeded("it ended the program that did it (%v): %.200s", err, first)
}

// head is a writer that keeps the first stepOutput bytes.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	if room := stepOutput - len(h.kept); room > 0 {
		h.kept = append(h.kept, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (h *head) String() string { return string(h.kept) }
