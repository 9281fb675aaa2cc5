package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"
)

const windowsPod = `apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {%s: x}}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows}
  containers:
  - {name: c, image: "mcr.microsoft.com/windows/nanoserver:ltsc2022", %s}
`

func request(t testing.TB, namespace, manifest string) admission.Request {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Namespace: namespace, Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Object: runtime.RawExtension{Raw: raw},
	}}
}

func newHandler(observe func(Verdict)) admission.Handler {
	modes := map[string]string{"quiet": off, "loud": warn, "strict": enforce}
	return New(func(_ context.Context, namespace string) map[string]string {
		return map[string]string{ModeLabel: modes[namespace]}
	}, observe)
}

func TestHandle(t *testing.T) {
	shell := fmt.Sprintf(windowsPod, "a", "command: [/bin/sh, -c, x]")
	for name, c := range map[string]struct {
		namespace, manifest string
		allowed             bool
		warning             string // "" for none
	}{
		"warned":            {"loud", shell, true, "WIN601"},
		"unknown namespace": {"other", shell, true, "WIN601"},
		"off":               {"quiet", shell, true, ""},
		"kube-system":       {"kube-system", shell, true, ""},
		"denied":            {"strict", shell, false, "WIN204"},
		"ignored without os": {"strict", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n" +
			"  shareProcessNamespace: true\n  nodeSelector: {kubernetes.io/os: windows}\n" +
			"  containers: [{name: c, image: x, resources: {limits: {memory: 1Gi}}}]\n", true, "WIN104"},
		"api server's": {"strict", fmt.Sprintf(windowsPod, "a", "resources: {limits: {memory: 800m}}"), true, "WIN201"},
		"mirror pod":   {"strict", fmt.Sprintf(windowsPod, mirrorAnnotation, "command: [/bin/sh]"), true, ""},
		"linux": {"strict", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n" +
			"spec: {containers: [{name: c, image: alpine, command: [/bin/sh]}]}\n", true, ""},
		"no pod": {"strict", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer := newHandler(func(Verdict) {}).Handle(t.Context(), request(t, c.namespace, c.manifest))
			warned := strings.Join(answer.Warnings, "\n")
			if answer.Allowed != c.allowed || c.warning == "" != (warned == "") || !strings.Contains(warned, c.warning) {
				t.Errorf("allowed %v, warnings %q", answer.Allowed, warned)
			}
			if !c.allowed && !strings.Contains(answer.Result.Message, "WIN601") {
				t.Errorf("denied with %q", answer.Result.Message)
			}
		})
	}
	if answer := newHandler(func(Verdict) {}).Handle(t.Context(), admission.Request{
		AdmissionRequest: admissionv1.AdmissionRequest{Namespace: "strict", Object: runtime.RawExtension{Raw: []byte("{")}},
	}); !answer.Allowed {
		t.Error("what cannot be read is denied")
	}
}

// TestObserved: observers get exactly the verdicts of the responses.
func TestObserved(t *testing.T) {
	manifest := fmt.Sprintf(windowsPod, "a", "command: [/bin/sh, -c, x], resources: {limits: {memory: 800m}}")
	for namespace, want := range map[string]Verdict{
		"quiet":  {Object: Unchecked},
		"loud":   {Object: Warned, Findings: []Judged{{"WIN201", "error", Warned}, {"WIN601", "error", Warned}}},
		"strict": {Object: Denied, Findings: []Judged{{"WIN201", "error", Warned}, {"WIN601", "error", Denied}}},
	} {
		var got []Verdict
		newHandler(func(v Verdict) { got = append(got, v) }).Handle(t.Context(), request(t, namespace, manifest))
		for i := range got {
			got[i].Findings = slices.DeleteFunc(got[i].Findings, func(j Judged) bool { return j.Rule != "WIN201" && j.Rule != "WIN601" })
			slices.SortFunc(got[i].Findings, func(a, b Judged) int { return strings.Compare(a.Rule, b.Rule) })
		}
		if diff := cmp.Diff([]Verdict{want}, got); diff != "" {
			t.Errorf("%s: %s", namespace, diff)
		}
	}
}

// BenchmarkHandle reports the 99th percentile in addition to the mean.
func BenchmarkHandle(b *testing.B) {
	h, req := newHandler(func(Verdict) {}), request(b, "strict", fmt.Sprintf(windowsPod, "a", "command: [/bin/sh, -c, x]"))
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		h.Handle(b.Context(), req)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}

// TestHostileObjects: a request may have an object of the API server or any other text; the webhook never
// fails on it, and permits objects that it cannot read.
func TestHostileObjects(t *testing.T) {
	const many = 100_000
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 20; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	pod := fmt.Sprintf(windowsPod, "a", "command: [/bin/sh]")
	head := `{"kind": "Pod", "apiVersion": "v1", "spec": `
	for name, text := range map[string]string{
		"a bomb of aliases":       pod + bomb,
		"objects in each other":   head + strings.Repeat(`{"a":`, many) + "1" + strings.Repeat("}", many) + "}",
		"sequences in each other": head + strings.Repeat(`[`, many) + strings.Repeat("]", many) + "}",
		"100,000 documents":       strings.Repeat("---\n"+pod, many),
	} {
		t.Run(name, func(t *testing.T) {
			var got Verdict
			answer := newHandler(func(v Verdict) { got = v }).Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Namespace: "strict", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Object: runtime.RawExtension{Raw: []byte(text)},
			}})
			if !answer.Allowed || got.Object != Unreadable {
				t.Errorf("allowed %v, %s: %v", answer.Allowed, got.Object, answer.Result)
			}
		})
	}
}

// TestManyWarnings: the errors are first, and the last warning has the number of omitted warnings.
func TestManyWarnings(t *testing.T) {
	manifest := fmt.Sprintf(windowsPod, "a", "")
	for i := range 25 {
		manifest += fmt.Sprintf("  - {name: c%d, image: \"mcr.microsoft.com/windows/nanoserver:ltsc2022\", "+
			"terminationMessagePath: /dev/x, imagePullPolicy: Always}\n", i)
	}
	manifest += "  - {name: last, image: \"mcr.microsoft.com/windows/nanoserver:ltsc2022\", command: [/bin/sh]}\n"
	got := newHandler(func(Verdict) {}).Handle(t.Context(), request(t, "loud", manifest)).Warnings
	if len(got) != maxWarnings || !strings.HasPrefix(got[len(got)-1], "and ") {
		t.Fatalf("%d warnings: %q", len(got), got)
	}
	if !strings.Contains(strings.Join(got, "\n"), "WIN601") {
		t.Errorf("no error of the last container: %q", got)
	}
}
