package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/lint"
)

// TestPodSecurity: the rules about Pod Security report a Windows pod if and only if the admission plugin's own checks
// refuse it, whatever its fields are.
func TestPodSecurity(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	chosen := slices.DeleteFunc(All(), func(r lint.Rule) bool { return r.Oracle != lint.PodSecurity })
	random := rand.New(rand.NewPCG(5, 36))
	refused, allowed := 0, 0
	for range 2000 {
		level := []string{"privileged", "baseline", "restricted"}[random.IntN(3)]
		version := []string{"latest", "v1.36", "v1.30", "v1.25", "v1.24", "v1.20", "v1.8"}[random.IntN(7)]
		pod := randomPod(random)
		at, err := api.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		data, err := yaml.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		namespace := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: example\n  labels:\n    %s: %s\n"+
			"    %s-version: %s\n---\n", enforceLabel, level, enforceLabel, version)
		set, errs := lint.Parse("pod", append([]byte(namespace), data...), lint.Options{})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var typed corev1.Pod
		if err := yaml.Unmarshal(data, &typed); err != nil {
			t.Fatal(err)
		}
		result := policy.AggregateCheckResults(checks.EvaluatePod(api.LevelVersion{Level: api.Level(level), Version: at},
			&typed.ObjectMeta, &typed.Spec))
		found := lint.Run(set, chosen, lint.Target{})
		if result.Allowed == (len(found) > 0) {
			t.Fatalf("%s %s: admission says %q, the rules %v, of\n%s", level, version, result.ForbiddenDetail(), found, data)
		}
		if result.Allowed {
			allowed++
		} else {
			refused++
		}
	}
	if refused < 200 || allowed < 200 {
		t.Errorf("%d refused, %d allowed: that says little", refused, allowed)
	}
}

// randomPod returns a Windows pod with some of the fields that the levels check.
func randomPod(random *rand.Rand) map[string]any {
	context := func(container bool) map[string]any {
		out := map[string]any{}
		sometimes := func(key string, values ...any) {
			if i := random.IntN(len(values) + 1); i < len(values) {
				out[key] = values[i]
			}
		}
		sometimes("runAsNonRoot", true, true, true, false)
		sometimes("seccompProfile", map[string]any{"type": "RuntimeDefault"}, map[string]any{"type": "RuntimeDefault"},
			map[string]any{"type": "Localhost", "localhostProfile": "x"})
		if container {
			sometimes("allowPrivilegeEscalation", false, false, false, true)
			sometimes("capabilities", map[string]any{"drop": []any{"ALL"}}, map[string]any{"drop": []any{"ALL"}},
				map[string]any{"drop": []any{"ALL"}, "add": []any{"NET_BIND_SERVICE"}}, map[string]any{"drop": []any{"NET_RAW"}})
		}
		if random.IntN(12) == 0 {
			out["windowsOptions"] = map[string]any{"hostProcess": true}
		}
		return out
	}
	spec := map[string]any{"nodeSelector": map[string]any{"kubernetes.io/os": "windows"}, "securityContext": context(false)}
	for _, list := range []string{"containers", "initContainers"} {
		var all []any
		for i := range random.IntN(2) + 1 {
			all = append(all, map[string]any{"name": fmt.Sprintf("%s-%d", list[:4], i), "image": "registry.example/app:1",
				"securityContext": context(true)})
		}
		if len(all) > 0 {
			spec[list] = all
		}
	}
	if random.IntN(2) == 0 {
		spec["os"] = map[string]any{"name": "windows"}
	}
	if random.IntN(8) == 0 {
		spec["hostUsers"] = random.IntN(2) == 0
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "example",
		"namespace": "example"}, "spec": spec}
}
