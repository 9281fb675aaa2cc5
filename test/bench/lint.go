package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// rounds of each program, in turns; the fastest counts, as other work of the machine
// only ever makes one slower.
const rounds = 3

// usage is what a program took.
type usage struct {
	wall, cpu time.Duration
	peak      float64 // bytes
	code      int
	out, err  bytes.Buffer
}

// measure runs a program to its end; exit codes of its own are no error.
func measure(path string, args ...string) (*usage, error) {
	u := &usage{}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &u.out, &u.err
	begun := time.Now()
	err := cmd.Run()
	u.wall = time.Since(begun)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		return nil, fmt.Errorf("%s: %w: %.2000s", filepath.Base(path), err, u.err.String())
	}
	u.cpu, u.code = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), cmd.ProcessState.ExitCode()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.peak = float64(r.Maxrss) * 1024 // KiB on Linux
	}
	return u, nil
}

// lintBench runs casement lint, with all rules, and kubeconform over the same files.
func lintBench(show func(row), bin, home string, documents int) error {
	files, schema := filepath.Join(home, "manifests"), filepath.Join(home, "schemas")
	if err := errors.Join(os.MkdirAll(schema, 0o755), manifests(files, documents)); err != nil {
		return err
	}
	if err := schemas(schema, bin); err != nil {
		return err
	}
	conform := []string{"-strict", "-summary", "-output", "json", "-schema-location", schema + "/{{.ResourceKind}}{{.KindSuffix}}.json", files}
	var ours, theirs *usage
	for range rounds {
		u, err := measure(filepath.Join(bin, "casement"), "lint", "-o", "json", files)
		if err != nil {
			return err
		}
		if u.code > 1 {
			return fmt.Errorf("casement lint ends with %d: %.2000s", u.code, u.err.String())
		}
		ours = faster(ours, u)
		if u, err = measure(filepath.Join(bin, "kubeconform"), conform...); err != nil {
			return err
		}
		theirs = faster(theirs, u)
	}
	findings, err := found(ours)
	if err != nil {
		return err
	}
	if err := conformed(theirs, documents); err != nil {
		return err
	}
	perSecond := func(u *usage) float64 { return float64(documents) / u.wall.Seconds() }
	show(row{"casement lint, all rules: documents per second", "/s", perSecond(ours), 0, fmt.Sprintf("%d documents, %d findings; more is better", documents, findings)})
	show(row{"kubeconform -strict on the same files", "/s", perSecond(theirs), 0, "schemas from our API server's OpenAPI; all are valid"})
	show(row{"kubeconform's speed, casement lint's is 1", "x", perSecond(theirs) / perSecond(ours), 1, fmt.Sprintf("CPU time %.1f s and %.1f s", theirs.cpu.Seconds(), ours.cpu.Seconds())})
	show(row{"casement lint: peak memory", "MiB", ours.peak / (1 << 20), 1024, ""})
	show(row{"kubeconform: peak memory", "MiB", theirs.peak / (1 << 20), 0, ""})
	return nil
}

func faster(a, b *usage) *usage {
	if a == nil || b.wall < a.wall {
		return b
	}
	return a
}

// found is the number of findings.
func found(u *usage) (int, error) {
	var out struct{ Findings []json.RawMessage }
	err := json.Unmarshal(u.out.Bytes(), &out)
	return len(out.Findings), err
}

// conformed is an error unless kubeconform has looked at all documents and is content.
func conformed(u *usage, documents int) error {
	var out struct {
		Resources []json.RawMessage
		Summary   struct{ Valid, Invalid, Errors, Skipped int }
	}
	if err := json.Unmarshal(u.out.Bytes(), &out); err != nil {
		return fmt.Errorf("read what kubeconform says: %w: %.2000s", err, u.err.String())
	}
	if out.Summary.Valid != documents {
		return fmt.Errorf("kubeconform: %+v of %d documents: %.2000s", out.Summary, documents, bytes.Join(raw(out.Resources), []byte("\n")))
	}
	return nil
}

func raw(list []json.RawMessage) [][]byte {
	var out [][]byte
	for _, r := range list {
		out = append(out, r)
	}
	return out
}
