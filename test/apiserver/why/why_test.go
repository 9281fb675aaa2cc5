package why

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/diagnose/walk"
)

// failure is one fault, and the expected answer of why.
type failure struct {
	name string
	// cause is the expected cause, and at the beginning of the KIND/NAME of the object that has it.
	cause, at string
	// shows must be contained in the evidence.
	shows  string
	change func(*scene)
}

// prepare creates the namespace of the scenes and the service account of their pods, which all
// tests share.
func prepare(t *testing.T, c client.Client) {
	t.Helper()
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pods"}}} {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailures stores every failure in turn and checks the answer.
func TestFailures(t *testing.T) {
	c := connect(t)
	prepare(t, c)
	t.Run("nothing fails", func(t *testing.T) {
		s := well()
		s.kubeconfig = kubeconfigOf(t, server)
		s.store(t, c)
		f, object := s.read(t, c)
		if a, err := walk.Object(f, object); err != nil || !a.Healthy || len(a.NotExamined) > 0 {
			t.Fatalf("a cluster that is well: %+v, %v", a, err)
		}
	})
	all := failures()
	seen := map[string]bool{}
	right := 0
	var table strings.Builder
	for _, fail := range all {
		if seen[fail.name] {
			t.Errorf("%s is there twice", fail.name)
		}
		seen[fail.name] = true
		ok := t.Run(fail.name, func(t *testing.T) {
			s := well()
			s.kubeconfig = kubeconfigOf(t, server)
			fail.change(s)
			s.store(t, c)
			f, object := s.read(t, c)
			a, err := walk.Object(f, object)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&table, "%-44s %-26s %s\n", fail.name, a.Name(), a.At)
			judge(t, fail, a)
		})
		if ok {
			right++
		}
	}
	t.Logf("%d of %d failures are named, %.1f %%\n%s", right, len(all), 100*float64(right)/float64(len(all)), table.String())
	if len(all) < 80 {
		t.Errorf("the table has %d failures", len(all))
	}
}

// judge compares an answer with the expected one.
func judge(t *testing.T, fail failure, a walk.Answer) {
	t.Helper()
	if a.Healthy || a.Waiting {
		t.Errorf("nothing is wrong, it says: %+v", a)
	}
	if a.Name() != fail.cause || !strings.HasPrefix(a.At, fail.at) {
		t.Errorf("got %s at %s, want %s at %s: %+v", a.Name(), a.At, fail.cause, fail.at, a)
	}
	if evidence := strings.Join(a.Lines(), "\n"); evidence == "" || !strings.Contains(evidence, fail.shows) {
		t.Errorf("%q is not in the evidence: %q", fail.shows, evidence)
	}
	if a.Means.Fix == "" || a.Next() == "" || strings.Contains(a.Means.Says, "reports") {
		t.Errorf("no words of its own, no fix or no next command: %+v", a)
	}
}
