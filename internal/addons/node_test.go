package addons

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// configMaps returns the ConfigMaps of an addon, by name.
func configMaps(t *testing.T, name string) map[string]map[string]string {
	t.Helper()
	a, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Render(Params{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	typed, _ := decode(t, text)
	for _, o := range typed {
		if m, ok := o.(*corev1.ConfigMap); ok {
			out[m.Name] = m.Data
		}
	}
	return out
}

// series matches names of windows-exporter's metrics, but not the names that the recording rules define.
var series = regexp.MustCompile(`\bwindows_[a-z0-9_]+\b[^:a-z]`)

// TestWindowsExporter: dashboard and rules use metrics of enabled collectors, alerts have
// descriptions, and each enabled collector is used.
func TestWindowsExporter(t *testing.T) {
	configs := configMaps(t, "windows-exporter")
	var config struct {
		Collectors struct{ Enabled string }
	}
	if err := yaml.Unmarshal([]byte(configs["windows-exporter"]["config.yml"]), &config); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for collector := range strings.SplitSeq(config.Collectors.Enabled, ",") {
		asked[collector] = false
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Record, Alert, Expr, For string
				Labels, Annotations      map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(configs["windows-exporter-rules"]["windows-nodes.yaml"]), &rules); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, r := range rules.Groups[0].Rules {
		queries = append(queries, r.Expr)
		if r.Alert != "" && (r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" ||
			r.Annotations["description"] == "") {
			t.Errorf("alert %s lacks for, severity, summary or description", r.Alert)
		}
	}
	var dashboard struct {
		UID        string
		Templating struct{ List []struct{ Query string } }
		Panels     []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(configs["windows-exporter-dashboard"]["windows-nodes.json"]), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, v := range dashboard.Templating.List {
		queries = append(queries, v.Query)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
		if p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
	}
	for _, q := range queries {
		for _, name := range series.FindAllString(q+" ", -1) {
			if strings.HasPrefix(name, "windows_node:") || strings.HasSuffix(name, ":") {
				continue
			}
			of := ""
			for collector := range asked {
				if strings.HasPrefix(name, "windows_"+collector+"_") {
					of = collector
				}
			}
			if of == "" {
				t.Errorf("no enabled collector has %s", name)
			}
			asked[of] = true
		}
	}
	for _, collector := range slices.Sorted(maps.Keys(asked)) {
		if !asked[collector] {
			t.Errorf("no query looks at the collector %s", collector)
		}
	}
}

// TestProblems: each monitor is a configuration that node-problem-detector can read, and the DaemonSet names all of
// them and the script of one of them.
func TestProblems(t *testing.T) {
	data := configMaps(t, "node-problem-detector-windows")["node-problem-detector-windows"]
	a, err := Find("node-problem-detector-windows")
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Render(Params{})
	if err != nil {
		t.Fatal(err)
	}
	var args string
	typed, _ := decode(t, text)
	for _, o := range typed {
		if d, ok := o.(*appsv1.DaemonSet); ok {
			args = strings.Join(d.Spec.Template.Spec.Containers[0].Args, " ")
		}
	}
	for _, p := range problems() {
		var monitor struct {
			Conditions []struct{ Type, Reason string }
			Rules      []struct {
				Condition, Reason, Path string
				Args                    []string
			}
		}
		if err := json.Unmarshal([]byte(data[p.Name+".json"]), &monitor); err != nil {
			t.Fatalf("%s: %v\n%s", p.Name, err, data[p.Name+".json"])
		}
		if monitor.Conditions[0].Type != monitor.Rules[0].Condition ||
			!strings.Contains(args, `C:\hpc\monitors\`+p.Name+".json") {
			t.Errorf("%s: %+v, arguments %s", p.Name, monitor, args)
		}
		at := strings.Join(monitor.Rules[0].Args, " ")
		if strings.Contains(at, ".ps1") && !strings.Contains(at, `C:\hpc\monitors\hns.ps1`) {
			t.Errorf("%s runs %s", p.Name, at)
		}
	}
	if data["hns.ps1"] == "" {
		t.Error("the script hns.ps1 is missing")
	}
}

// TestEventFlow: the configuration of the logger is JSON and has containerd and HNS.
func TestEventFlow(t *testing.T) {
	var config struct {
		Inputs []struct {
			Type      string
			Providers []struct{ ProviderName string }
		}
		Outputs []struct{ Type string }
	}
	text := configMaps(t, "windows-logs")["containerd-logger"]["config.json"]
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range config.Inputs[0].Providers {
		names = append(names, p.ProviderName)
	}
	for _, want := range []string{"ContainerD", "Microsoft-Windows-Host-Network-Service"} {
		if !slices.Contains(names, want) {
			t.Errorf("no events of %s: %v", want, names)
		}
	}
}
