package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// metric matches the names of casement's metrics in expressions.
var metric = regexp.MustCompile(`\bcasement_[a-z0-9_]+\b`)

// TestMonitoring: each alert has a description, and each of casement's metrics is used.
// (TestMetrics in test/apiserver/integration checks that the metrics of dashboard and rules
// exist.)
func TestMonitoring(t *testing.T) {
	rules, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if r.Alert != "" && (r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" ||
			r.Annotations["description"] == "") {
			t.Errorf("alert %s lacks for, severity, summary or description", r.Alert)
		}
	}
	queries, err := Queries()
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, q := range queries {
		for _, name := range metric.FindAllString(q, -1) {
			asked[strings.TrimSuffix(name, "_bucket")] = true
		}
	}
	for _, file := range []string{"metric.go", "machine.go", "verdict.go"} {
		source, err := os.ReadFile("../internal/metric/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metric.FindAllString(string(source), -1) {
			if !asked[name] {
				t.Errorf("no query looks at %s", name)
			}
		}
	}
}
