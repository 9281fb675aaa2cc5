package config

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// metric finds names of metrics in expressions.
var metric = regexp.MustCompile(`\b(casement_[a-z0-9_]+|controller_runtime_[a-z0-9_]+|leader_election_[a-z0-9_]+|process_[a-z0-9_]+)\b`)

// TestMonitoring: dashboard and rules ask for metrics that there are, each alert says
// what it means, and each of our metrics is looked at.
func TestMonitoring(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Record, Alert, Expr, For string
				Labels, Annotations      map[string]string
			}
		}
	}
	data, err := MonitoringFile("rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &rules); err != nil {
		t.Fatal(err)
	}
	var expressions []string
	for _, r := range rules.Groups[0].Rules {
		expressions = append(expressions, r.Expr)
		if r.Alert != "" && (r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "") {
			t.Errorf("alert %s lacks for, severity, summary or description", r.Alert)
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if data, err = MonitoringFile("dashboard.json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	source := ""
	for _, file := range []string{"metric.go", "machine.go", "verdict.go"} {
		text, err := os.ReadFile("../internal/metric/" + file)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	ours := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(casement_[a-z_]+)"`).FindAllStringSubmatch(source, -1) {
		ours[m[1]] = false
	}
	for _, e := range expressions {
		for _, name := range metric.FindAllString(e, -1) {
			name = strings.TrimSuffix(name, "_bucket")
			if _, ok := ours[name]; strings.HasPrefix(name, "casement_") && !ok {
				t.Errorf("%s asks for %s, which there is not", e, name)
			}
			ours[name] = true
		}
	}
	for name, used := range ours {
		if !used {
			t.Errorf("nobody looks at %s", name)
		}
	}
}
