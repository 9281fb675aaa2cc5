package rules

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
	"casement.dev/casement/internal/testing/kubetest"
)

// variations is the number of variants of each example, good and bad.
const variations = 20

var apiServer *rest.Config

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) error {
		apiServer = p.Config()
		return nil
	}))
}

// server is a client whose every creation is a dry run.
type server struct {
	client.Client
	warned *kubetest.Warnings
}

func newServer(t *testing.T) server {
	t.Helper()
	config, warned := rest.CopyConfig(apiServer), &kubetest.Warnings{}
	config.WarningHandler = warned
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "oracle"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "oracle"}},
	} {
		if err := c.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	return server{client.NewDryRunClient(c), warned}
}

// refused returns the fields that the API server's error names, for the matching causes.
func (s server) refused(ctx context.Context, object map[string]any, about string) ([]string, error) {
	u := &unstructured.Unstructured{Object: runtimeCopy(object)}
	u.SetNamespace("oracle")
	err := s.Create(ctx, u)
	if err == nil {
		return nil, nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.Status().Code != 422 || status.Status().Details == nil {
		return nil, err
	}
	fields := map[string]bool{}
	for _, cause := range status.Status().Details.Causes {
		if strings.Contains(cause.Message, about) {
			fields[cause.Field] = true
		}
	}
	return slices.Sorted(maps.Keys(fields)), nil
}

// found returns the fields that the rules selected by of report as errors.
func found(t *testing.T, object map[string]any, of func(lint.Rule) bool) []string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	set, errs := lint.Parse("example", text, lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	chosen := slices.DeleteFunc(rules.All(), func(r lint.Rule) bool { return !of(r) })
	fields := map[string]bool{}
	for _, f := range lint.Run(set, chosen, lint.Target{Minor: 37}) {
		if f.Severity == lint.Error || f.Rule == "WIN005" {
			fields[named(f)] = true
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// mountIndex matches the index that the API server leaves out of the paths of mounts.
var mountIndex = regexp.MustCompile(`volumeMounts\[\d+\]`)

// named returns the path of a finding in the API server's form. The forms are equal except for
// these rules, for which the API server is less exact.
func named(f lint.Finding) string {
	switch f.Rule {
	case "WIN129":
		return mountIndex.ReplaceAllString(f.Path, "volumeMounts")
	case "WIN131":
		return strings.TrimSuffix(f.Path, ".name")
	case "WIN505":
		return "spec"
	}
	return f.Path
}

func runtimeCopy(object map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: object}).DeepCopy().Object
}

// parse returns an example of one object as the API's JSON value.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return u.Object
}

// vary adds fields to a pod that the API server always accepts.
func vary(random *rand.Rand, object map[string]any) map[string]any {
	out := runtimeCopy(object)
	u := unstructured.Unstructured{Object: out}
	u.SetName(fmt.Sprintf("example-%d", random.IntN(1000)))
	spec, _ := out["spec"].(map[string]any)
	list, _ := spec["containers"].([]any)
	for i := range random.IntN(3) {
		list = append(list, map[string]any{"name": fmt.Sprintf("more-%d", i), "image": "registry.example/app:1"})
	}
	for _, c := range list {
		if random.IntN(2) == 0 {
			c.(map[string]any)["env"] = []any{map[string]any{"name": "MODE", "value": fmt.Sprint(random.IntN(9))}}
		}
		if random.IntN(2) == 0 {
			c.(map[string]any)["imagePullPolicy"] = "IfNotPresent"
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	spec["containers"] = list
	if random.IntN(2) == 0 {
		spec["terminationGracePeriodSeconds"] = random.Int64N(60) + 1
	}
	if random.IntN(2) == 0 {
		spec["restartPolicy"] = "Never"
	}
	return out
}

// TestRefusals checks that rules about the API server report exactly the fields that it refuses.
func TestRefusals(t *testing.T) {
	s, random := newServer(t), rand.New(rand.NewPCG(1, 36))
	isRefusal := func(r lint.Rule) bool { return r.Oracle == lint.APIServer }
	for _, r := range rules.All() {
		if !isRefusal(r) {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			for range variations {
				for name, text := range map[string]string{"bad": r.Bad, "good": r.Good} {
					object := vary(random, parse(t, text))
					want, err := s.refused(t.Context(), object, "")
					if err != nil {
						t.Fatal(err)
					}
					if got := found(t, object, isRefusal); !slices.Equal(got, want) || (name == "bad") != (len(want) > 0) {
						t.Fatalf("%s: rules name %q, the API server %q", name, got, want)
					}
				}
			}
		})
	}
}

// TestWarnings compares the rules' findings with the API server's warnings.
func TestWarnings(t *testing.T) {
	s, random := newServer(t), rand.New(rand.NewPCG(2, 36))
	for _, r := range rules.All() {
		if r.Oracle != lint.APIServerWarning {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			for range variations {
				for _, text := range []string{r.Bad, r.Good} {
					object := vary(random, parse(t, text))
					s.warned.Take()
					if refused, err := s.refused(t.Context(), object, ""); err != nil || len(refused) > 0 {
						t.Fatal(refused, err)
					}
					got := found(t, object, func(other lint.Rule) bool { return other.ID == r.ID })
					if warned := s.warned.Take(); (len(got) > 0) != (len(warned) > 0) {
						t.Fatalf("the rule names %q, the API server warns %q", got, warned)
					}
				}
			}
		})
	}
}

// TestSubsets puts subsets of the fields that are forbidden for Windows pods into one pod.
func TestSubsets(t *testing.T) {
	s, random := newServer(t), rand.New(rand.NewPCG(3, 36))
	forbidden := func(r lint.Rule) bool { return r.ID >= "WIN101" && r.ID <= "WIN126" }
	family := slices.DeleteFunc(rules.All(), func(r lint.Rule) bool { return !forbidden(r) })
	if len(family) != 26 {
		t.Fatalf("%d rules", len(family))
	}
	for range 200 {
		object := parse(t, family[0].Good)
		for _, r := range family {
			if random.IntN(2) == 0 {
				merge(object, parse(t, r.Bad))
			}
		}
		object = vary(random, object)
		want, err := s.refused(t.Context(), object, "be set for a windows pod")
		if err != nil {
			t.Fatal(err)
		}
		if got := found(t, object, forbidden); !slices.Equal(got, want) {
			t.Fatalf("rules name %q, the API server %q", got, want)
		}
	}
}

// merge copies the fields of one object into another, including the first element of lists.
func merge(into, from map[string]any) {
	for key, value := range from {
		switch value := value.(type) {
		case map[string]any:
			if there, ok := into[key].(map[string]any); ok {
				merge(there, value)
				continue
			}
		case []any:
			if there, ok := into[key].([]any); ok && len(there) > 0 && key == "containers" {
				merge(there[0].(map[string]any), value[0].(map[string]any))
				continue
			}
		}
		into[key] = value
	}
}

// findings returns the findings of one rule in a text of several objects.
func findings(t *testing.T, text, id string) []lint.Finding {
	t.Helper()
	set, errs := lint.Parse("example", []byte(text), lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return lint.Run(set, slices.DeleteFunc(rules.All(), func(r lint.Rule) bool { return r.ID != id }), lint.Target{Minor: 37})
}
