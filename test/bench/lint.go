package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"casement.dev/casement/internal/testing/corpus"
	"casement.dev/casement/internal/testing/measure"
)

// rounds is the number of runs of each program, in turns; the fastest counts, because other work of
// the machine can only make a run slower.
const rounds = 3

// Budgets of casement lint: its speed as a multiple of kubeconform's, and its peak memory in MiB.
const (
	lintSpeed  = 1.3
	lintMemory = 100
)

// lintBench measures casement lint, with all rules, and kubeconform with the same files.
func lintBench(show func(row), bin, home string, documents int) error {
	files, schema := filepath.Join(home, "manifests"), filepath.Join(home, "schemas")
	if err := errors.Join(os.MkdirAll(schema, 0o755), manifests(files, documents)); err != nil {
		return err
	}
	if err := schemas(schema, bin); err != nil {
		return err
	}
	conform := []string{"-strict", "-summary", "-output", "json", "-schema-location",
		schema + "/{{.ResourceKind}}{{.KindSuffix}}.json", files}
	var ours, theirs *measure.Usage
	for range rounds {
		u, err := measure.Run(nil, filepath.Join(bin, "casement"), "lint", "-o", "json", files)
		if err != nil {
			return err
		}
		if u.Code > 1 {
			return fmt.Errorf("casement lint ends with %d: %.2000s", u.Code, u.Err.String())
		}
		ours = faster(ours, u)
		if u, err = measure.Run(nil, filepath.Join(bin, "kubeconform"), conform...); err != nil {
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
	perSecond := func(u *measure.Usage) float64 { return float64(documents) / u.Wall.Seconds() }
	show(row{"casement lint, all rules: documents per second", "/s", perSecond(ours), 0,
		fmt.Sprintf("%d documents, %d findings; more is better", documents, findings)})
	show(row{"kubeconform -strict on the same files", "/s", perSecond(theirs), 0, "schemas from our API server's OpenAPI; all are valid"})
	show(row{"kubeconform's speed, casement lint's is 1", "x", perSecond(theirs) / perSecond(ours), 1 / lintSpeed,
		fmt.Sprintf("CPU time %.1f s and %.1f s", theirs.CPU.Seconds(), ours.CPU.Seconds())})
	show(row{"casement lint: peak memory", "MiB", ours.Peak / (1 << 20), lintMemory, ""})
	show(row{"kubeconform: peak memory", "MiB", theirs.Peak / (1 << 20), 0, ""})
	return nil
}

func faster(a, b *measure.Usage) *measure.Usage {
	if a == nil || b.Wall < a.Wall {
		return b
	}
	return a
}

// found returns the number of findings.
func found(u *measure.Usage) (int, error) {
	var out struct{ Findings []json.RawMessage }
	err := json.Unmarshal(u.Out.Bytes(), &out)
	return len(out.Findings), err
}

// conformed returns an error unless kubeconform has checked all documents and found no error.
func conformed(u *measure.Usage, documents int) error {
	var out struct {
		Resources []json.RawMessage
		Summary   struct{ Valid, Invalid, Errors, Skipped int }
	}
	if err := json.Unmarshal(u.Out.Bytes(), &out); err != nil {
		return fmt.Errorf("read what kubeconform says: %w: %.2000s", err, u.Err.String())
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

// corpusBench runs casement lint with malicious input, and prints the exit code and the memory of
// each run.
func corpusBench(show func(row), bin, home string) error {
	for _, input := range corpus.Inputs() {
		dir, err := os.MkdirTemp(home, "corpus")
		if err != nil {
			return err
		}
		name, err := input.Write(dir)
		if err != nil {
			return err
		}
		u, err := measure.Run(nil, filepath.Join(bin, "casement"), "lint", name)
		if err != nil {
			return err
		}
		show(row{"casement lint: " + input.Name, "MiB", u.Peak / corpus.MiB, 1024, fmt.Sprintf("exit code %d", u.Code)})
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}
