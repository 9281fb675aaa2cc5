package rules

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
)

// carrier is a kind that creates pods, and the path of its pod template.
type carrier struct {
	apiVersion, kind string
	template         []string
	// restart is the restart policy that the kind requires for its pods.
	restart string
	// selects is true if the kind has a label selector.
	selects bool
}

var carriers = []carrier{
	{"apps/v1", "Deployment", []string{"spec", "template"}, "Always", true},
	{"apps/v1", "StatefulSet", []string{"spec", "template"}, "Always", true},
	{"apps/v1", "DaemonSet", []string{"spec", "template"}, "Always", true},
	{"apps/v1", "ReplicaSet", []string{"spec", "template"}, "Always", true},
	{"batch/v1", "Job", []string{"spec", "template"}, "Never", false},
	{"batch/v1", "CronJob", []string{"spec", "jobTemplate", "spec", "template"}, "Never", false},
	{"v1", "PodTemplate", []string{"template"}, "Always", false},
}

// carry puts a pod into an object of the kind.
func (c carrier) carry(t *testing.T, pod map[string]any) map[string]any {
	t.Helper()
	pod = runtimeCopy(pod)
	spec := pod["spec"].(map[string]any)
	spec["restartPolicy"] = c.restart
	labels := map[string]any{"app": "example"}
	annotations, _, _ := unstructured.NestedMap(pod, "metadata", "annotations")
	out := map[string]any{"apiVersion": c.apiVersion, "kind": c.kind, "metadata": map[string]any{"name": "example"}}
	set := func(value any, path ...string) {
		if err := unstructured.SetNestedField(out, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	set(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}, "spec": spec}, c.template...)
	if c.selects {
		set(labels, "spec", "selector", "matchLabels")
	}
	switch c.kind {
	case "StatefulSet":
		set("example", "spec", "serviceName")
	case "CronJob":
		set("0 3 * * *", "spec", "schedule")
	}
	return out
}

// TestCarriers checks that in pods inside every kind with a pod template the rules report exactly
// the fields that the API server refuses, with the same paths.
func TestCarriers(t *testing.T) {
	s, random := newServer(t), rand.New(rand.NewPCG(6, 36))
	isRefusal := func(r lint.Rule) bool { return r.Oracle == lint.APIServer }
	for _, c := range carriers {
		t.Run(c.kind, func(t *testing.T) {
			for _, r := range rules.All() {
				if !isRefusal(r) || len(documents(r.Bad)) > 1 {
					continue
				}
				for name, text := range map[string]string{"bad": r.Bad, "good": r.Good} {
					object := c.carry(t, vary(random, parse(t, text)))
					want, err := s.refused(t.Context(), object, "")
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, field := range found(t, object, isRefusal) {
						if field == "spec" { // WIN505, see named
							field = strings.Join(c.template, ".") + ".spec"
						}
						got = append(got, field)
					}
					slices.Sort(got)
					if !slices.Equal(got, want) || (name == "bad") != (len(want) > 0) {
						t.Fatalf("%s, %s: rules name %q, the API server %q", r.ID, name, got, want)
					}
				}
			}
		})
	}
}

// TestDefaults checks that the fields that the API server adds to an object neither cause nor hide
// a finding.
func TestDefaults(t *testing.T) {
	s := newServer(t)
	for _, r := range rules.All() {
		if r.For.Minor > 0 || r.ID == "K8S001" {
			continue
		}
		for name, text := range map[string]string{"bad": r.Bad, "good": r.Good} {
			var out []string
			accepted := true
			for _, document := range documents(text) {
				u := &unstructured.Unstructured{Object: parse(t, document)}
				namespace := u.GetNamespace()
				if g := u.GroupVersionKind().Group; u.GetKind() != "RuntimeClass" &&
					(g == "" || g == "apps" || g == "batch") && u.GetKind() != "Namespace" {
					complete(u)
					u.SetNamespace("oracle")
					err := s.Create(t.Context(), u)
					if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
						t.Fatalf("%s: %v\n%s", r.ID, err, document)
					}
					accepted = accepted && err == nil
					u.SetNamespace(namespace)
				}
				data, err := yaml.Marshal(u.Object)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, string(data))
			}
			if !accepted || (r.ID == "WIN127" || r.ID == "WIN327") && name == "bad" { // the API server drops the field if its feature gate is off
				continue
			}
			set, errs := lint.Parse("example", []byte(strings.Join(out, "---\n")), lint.Options{})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			target := r.For
			target.Minor = 37
			if got := lint.Run(set, []lint.Rule{r}, target); (len(got) > 0) != (name == "bad") {
				t.Errorf("%s, %s: finds %v, in\n%s", r.ID, name, got, strings.Join(out, "---\n"))
			}
		}
	}
}

// complete adds the fields that the kind of an example's object requires.
func complete(u *unstructured.Unstructured) {
	for _, c := range carriers {
		if c.kind == u.GetKind() && c.selects {
			labels := map[string]any{"app": "example"}
			_ = unstructured.SetNestedMap(u.Object, labels, append(slices.Clone(c.template), "metadata", "labels")...)
			_ = unstructured.SetNestedMap(u.Object, labels, "spec", "selector", "matchLabels")
		}
	}
}

func documents(text string) []string {
	var out []string
	for _, d := range bytes.Split([]byte(text), []byte("---\n")) {
		out = append(out, string(d))
	}
	return out
}
