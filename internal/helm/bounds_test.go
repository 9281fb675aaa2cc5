package helm

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/helm/v1alpha1"
)

// bombs are templates that would exhaust a machine, each with an expression for its error. Those that only compute have
// a limit of a few seconds of processor time; for the others the limit is far higher, because a slow machine needs more
// time for the same memory.
var bombs = map[string]struct {
	template, want string
	cpu            uint64
}{
	"until":          {`{{ range $i := until 1000000000 }}a{{ end }}`, "memory", 0},
	"a smaller list": {`{{ range $i := until 3000000 }}a{{ end }}`, "it makes more than", 0},
	"repeat":         {`{{ repeat 2000000000 "abcdefgh" }}`, "memory", 0},
	"nested ranges": {`{{ $l := until 1000 }}{{ range $l }}{{ range $l }}` +
		`{{ range $l }}{{ range $l }}{{ end }}{{ end }}{{ end }}{{ end }}`, "of the processor", 2},
	"authorities": {`{{ range $i := until 100000 }}{{ $x := genCA "a" 365 }}{{ end }}`, "of the processor", 2},
	"a template that calls itself": {`{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`,
		"exceeded maximum template depth|of memory", 0}, // with the race detector the stack needs more
	"a growing list": {`{{ $l := list "aaaaaaaaaaaaaaaaaaaaaaaa" }}{{ range until 60 }}{{ $l = concat $l $l }}{{ end }}`, "memory", 0},
}

// TestBoundedTemplates fills each template in a separate process, like the controller.
func TestBoundedTemplates(t *testing.T) {
	for name, tc := range bombs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := step{Template: tc.template, Data: []byte("{}"), CPU: tc.cpu}.run(t.Context())
			if err == nil || !regexp.MustCompile(tc.want).MatchString(err.Error()) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
	r, err := step{Template: `{{ .port }} {{ add .port 1 }} {{ eq .port 10000000 }}`, Data: []byte(`{"port":10000000}`)}.run(t.Context())
	if err != nil || r.Values != "10000000 10000001 true" {
		t.Errorf("%q, %v", r.Values, err)
	}
}

// chartOf writes a chart with one template.
func chartOf(t *testing.T, charts, name, text string) {
	t.Helper()
	for file, content := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n", "templates/a.yaml": text,
	} {
		path := filepath.Join(charts, name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// refused waits until Ready is False with a reason for the current generation of an object.
func (s scene) refused(o client.Object, reason string, conditions func() []metav1.Condition) (message string) {
	s.Helper()
	s.until(reason, func() (bool, string) {
		s.must(s.Get(s.Context(), client.ObjectKeyFromObject(o), o))
		c := meta.FindStatusCondition(conditions(), clusterv1.ReadyCondition)
		if c == nil {
			return false, "no condition"
		}
		message = c.Message
		return c.Reason == reason && c.ObservedGeneration == o.GetGeneration(), strings.Join(messages(conditions()), "; ")
	})
	return message
}

// TestExceeded: a template that exceeds the limits fails with that error and is not retried until it changes, also by
// the next manager; a name that no chart can have is refused once.
func TestExceeded(t *testing.T) {
	charts, tries := t.TempDir(), filepath.Join(t.TempDir(), "tries")
	t.Setenv(triesEnv, tries)
	selector := map[string]string{"bounds": "test"}
	chartOf(t, charts, "endless", `{{ range $i := until 1000000000 }}a{{ end }}`)
	chartOf(t, charts, "harmless", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n")
	huge := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		block := []byte(strings.Repeat("a", 1<<20))
		for range 4096 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	t.Cleanup(huge.Close)

	inValues := proxy("in-values", "harmless", selector, bombs["until"].template)
	inChart := proxy("in-chart", "endless", selector, "")
	elsewhere := proxy("elsewhere", "remote", selector, "")
	elsewhere.Spec.RepoURL, elsewhere.Spec.TLSConfig = huge.URL, &v1alpha1.TLSConfig{InsecureSkipTLSVerify: true}
	impossible := proxy("impossible", "../../../../etc", selector, "")
	t.Run("said", func(t *testing.T) {
		s := begin(t, charts) // runs until the end of this part
		c := s.cluster("bounded", selector)
		s.initialize(c)
		for _, p := range []*v1alpha1.HelmChartProxy{inValues, inChart, elsewhere, impossible} {
			s.must(s.Create(t.Context(), p))
		}
		conditions := func(p *v1alpha1.HelmChartProxy) func() []metav1.Condition {
			return func() []metav1.Condition { return p.Status.Conditions }
		}
		if m := s.refused(inValues, v1alpha1.LimitExceededReason, conditions(inValues)); !strings.Contains(m, "MiB of memory") ||
			!strings.Contains(m, "spec.valuesTemplate") {
			t.Errorf("in values: %s", m)
		}
		if m := s.refused(impossible, v1alpha1.InvalidSpecReason, conditions(impossible)); !strings.Contains(m, `"../../../../etc"`) {
			t.Errorf("impossible name: %s", m)
		}
		for _, name := range []string{"in-chart", "elsewhere"} {
			s.until(name, func() (bool, string) { return s.release(name) != nil, "no release" })
			r := s.release(name)
			m := s.refused(r, v1alpha1.LimitExceededReason, func() []metav1.Condition { return r.Status.Conditions })
			if !strings.Contains(m, "MiB of memory") {
				t.Errorf("%s: %s", name, m)
			}
		}
	})
	before := count(t, tries)

	again := begin(t, charts) // a restarted manager
	fine := proxy("fine", "harmless", selector, "a: {{ .Cluster.metadata.name }}")
	again.must(again.Create(t.Context(), fine))
	again.ready("fine", 1)
	if after := count(t, tries); !maps.Equal(after, before) {
		t.Errorf("after a start the tries are %v, before %v", after, before)
	}

	again.must(again.Get(t.Context(), client.ObjectKeyFromObject(inValues), inValues))
	inValues.Spec.ValuesTemplate = "a: {{ .Cluster.metadata.name }}"
	again.must(again.Update(t.Context(), inValues))
	again.ready("in-values", 1)
	for _, p := range []*v1alpha1.HelmChartProxy{inValues, inChart, elsewhere, impossible, fine} {
		again.must(again.Delete(t.Context(), p))
		again.until(p.Name+" is gone", func() (bool, string) { return !again.has(p, "default", p.Name), "there still" })
	}
}

// triesEnv is the environment variable with the name of a file to which each step of the test adds a line.
const triesEnv = "CASEMENT_TEST_TRIES"

// count returns the numbers of steps by a word in their input.
func count(t *testing.T, file string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(data)) {
		for _, word := range []string{"until", "endless", "remote"} {
			if strings.Contains(line, word) {
				out[word]++
			}
		}
	}
	if len(out) != 3 {
		t.Fatal(fmt.Sprint("tries: ", out))
	}
	return out
}
