package main

import (
	"bytes"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/golden"
)

// TestReport writes the pages of two invented runs; look at the pages in a browser after a change.
func TestReport(t *testing.T) {
	rows := []row{
		{Name: "start the management cluster", Verdict: passed, Took: 9 * time.Second},
		{Cluster: "casement-e2e-0000cafe-m", Name: "create a control plane, a Linux and a Windows worker", Verdict: passed,
			Began: 9 * time.Second, Took: 14 * time.Minute, Calls: 92},
		{Cluster: "casement-e2e-0000cafe-m", Name: "Extend.ActiveDirectory: a pod has a domain identity", Verdict: notRun,
			Detail: "the run has no domain"},
		{Cluster: "casement-e2e-0000cafe-p", Name: "create a control plane, a Linux and a Windows worker", Verdict: failed,
			Began: 9 * time.Second, Took: 30 * time.Minute, Calls: 120, Detail: "the time ran out\nQuotaExceeded: <standardDSv3Family>"},
	}
	for _, test := range []struct {
		name     string
		endpoint string
		change   func(*report)
	}{
		{"azure", "https://management.azure.com", func(r *report) {
			r.Rows[1].Local = 42 * time.Second
			r.Ended, r.Differences = "the budget of 1h15m0s is over", "virtualMachines: PUT: header Retry-After is missing"
		}},
		{"rehearsal", "https://127.0.0.1:40000", func(*report) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newReport(settings{endpoint: test.endpoint, location: "westeurope", older: "v1.35.2", newer: "v1.36.3", hours: time.Hour,
				machines: 8, dollars: 15}, options{})
			r.Commit, r.Started, r.Took = "0123456789ab", time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC), 31*time.Minute
			r.Rows, r.Use, r.Left = rows, use{6, 4.2}, "nothing is left"
			r.Calls = []callsOf{{"PUT", "Microsoft.Compute/virtualMachines", 6, 1}}
			r.Boots["casement-e2e-0000cafe-m"] = template.HTML(`<svg viewBox="0 0 10 4"><rect width="9" height="3"/></svg>`)
			test.change(r)
			var out bytes.Buffer
			if err := r.render(&out); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", test.name+".html"), out.Bytes())
			if other := regexp.MustCompile(`(?i)(?:src|href|url)\s*[=(]\s*["']?[^"'#]`).FindString(out.String()); other != "" {
				t.Errorf("the page is not self-contained: it has %q", other)
			}
			if r.failures() != 1 {
				t.Errorf("%d failures", r.failures())
			}
		})
	}
}

// TestReadRecording counts the calls of a recording, and keeps the durations of a rehearsal beside
// those of Azure.
func TestReadRecording(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "azure.yaml")
	const text = `---
version: 1
interactions:
- request: {method: PUT, url: "https://x/subscriptions/0/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a?api-version=1"}
  response: {code: 201}
- request: {method: PUT, url: "https://x/subscriptions/0/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/b?api-version=1"}
  response: {code: 409}
- request: {method: GET, url: "https://x/subscriptions/0/providers/Microsoft.Compute/locations/westeurope/operations/1?api-version=1"}
  response: {code: 200}
- request: {method: GET, url: "https://x/subscriptions/0/resourceGroups/g?api-version=1"}
  response: {code: 404}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rehearsal := newReport(settings{endpoint: "https://127.0.0.1:1"}, options{})
	rehearsal.add(row{Cluster: "casement-e2e-1-m", Name: "delete", Verdict: passed, Took: time.Second})
	page := options{file: file}.report()
	if err := rehearsal.write(page); err != nil {
		t.Fatal(err)
	}
	r := newReport(settings{endpoint: "https://management.azure.com"}, options{})
	r.add(row{Cluster: "casement-e2e-2-m", Name: "delete", Verdict: passed, Took: time.Minute})
	r.add(row{Cluster: "casement-e2e-2-p", Name: "delete", Verdict: passed, Took: time.Minute})
	r.readRecording(file)
	if err := r.write(page); err != nil {
		t.Fatal(err)
	}
	want := []callsOf{
		{"GET", "Microsoft.Compute/locations (operations)", 1, 0}, {"PUT", "Microsoft.Compute/virtualMachines", 2, 1},
		{"GET", "Microsoft.Resources/resourceGroups and subscriptions", 1, 0},
	}
	if len(r.Calls) != len(want) {
		t.Fatalf("calls %+v", r.Calls)
	}
	for i := range want {
		if r.Calls[i] != want[i] {
			t.Errorf("calls %+v, want %+v", r.Calls[i], want[i])
		}
	}
	if r.Rows[0].Local != time.Second || r.Rows[1].Local != 0 {
		t.Errorf("beside the rehearsal: %+v", r.Rows)
	}
	r.readRecording(file + "x")
	if !strings.Contains(r.Ended, "the recording") {
		t.Errorf("a recording that is not there: %q", r.Ended)
	}
}

// TestEstimate checks that eight machines of two clusters cost what the rates give for an hour.
func TestEstimate(t *testing.T) {
	var u use
	for range 360 { // an hour of samples
		u.add(8, 2, 10*time.Second)
	}
	u.add(2, 2, 0)
	if want := 8*machineRate + 2*clusterRate; math.Abs(u.Dollars-want) > 1e-6 || u.Machines != 8 {
		t.Errorf("%+v, want %.2f dollars", u, want)
	}
}
