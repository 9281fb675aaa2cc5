package rules

import (
	"fmt"
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
)

const largePod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  os: {name: windows}\n" +
	"  securityContext: {windowsOptions: {runAsUserName: ContainerAdministrator}}\n  containers:\n"

// large returns objects with n items over which a rule must not iterate n times.
var large = map[string]func(n int) string{
	"containers": func(n int) string {
		return largePod + list(n, func(i int) string {
			return fmt.Sprintf("  - name: c%d\n    image: mcr.microsoft.com/windows/nanoserver:ltsc2022\n", i)
		})
	},
	"volumes, mounts, variables and ports": func(n int) string {
		return largePod + "  - name: c\n    image: i\n    volumeMounts:\n" +
			list(n, func(i int) string { return fmt.Sprintf("    - {name: v%d, mountPath: 'C:\\v%d'}\n", i, i) }) + "    env:\n" +
			list(n, func(i int) string { return fmt.Sprintf("    - {name: E%d, value: a}\n", i) }) + "    ports:\n" +
			list(n, func(i int) string { return fmt.Sprintf("    - {containerPort: %d}\n", i+1) }) + "  volumes:\n" +
			list(n, func(i int) string { return fmt.Sprintf("  - {name: v%d, emptyDir: {}}\n", i) })
	},
	"a claim, a config map and a secret for each volume": func(n int) string {
		return largePod + "  - name: c\n    image: i\n  volumes:\n" + list(n, func(i int) string {
			return fmt.Sprintf("  - {name: v%d, persistentVolumeClaim: {claimName: c%d}}\n", i, i)
		}) + list(n, func(i int) string {
			return fmt.Sprintf("---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c%d}\n"+
				"spec: {storageClassName: s%d}\n", i, i)
		})
	},
	"tolerations": func(n int) string {
		return largePod + "  - name: c\n    image: i\n  tolerations:\n" +
			list(n, func(i int) string { return fmt.Sprintf("  - {key: k%d, operator: Exists, effect: NoSchedule}\n", i) })
	},
	"documents": func(n int) string {
		return list(n, func(i int) string {
			return strings.Replace(largePod, "name: a", fmt.Sprintf("name: a%d", i), 1) + "  - name: c\n    image: i\n---\n"
		})
	},
	"services with their deployments": func(n int) string {
		return list(n, func(i int) string {
			return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: a%[1]d}\nspec: {selector: {app: a%[1]d}, "+
				"ports: [{port: 80}]}\n---\n"+
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a%[1]d}\nspec:\n  template:\n    metadata: {labels: {app: a%[1]d}}\n"+
				"    spec: {os: {name: windows}, containers: [{name: c, image: i}]}\n---\n", i)
		})
	},
}

func list(n int, item func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(item(i))
	}
	return b.String()
}

// TestLinear: for an input of twice the size, a rule does about twice the work. Each access to a value allocates
// memory, so allocations measure the work.
func TestLinear(t *testing.T) {
	for name, text := range large {
		t.Run(name, func(t *testing.T) {
			work := func(rule lint.Rule, n int) float64 {
				set, errs := lint.Parse("large.yaml", []byte(text(n)), lint.Options{})
				if len(errs) > 0 || len(set.Pods) == 0 {
					t.Fatalf("%d pods, %v", len(set.Pods), errs)
				}
				return testing.AllocsPerRun(1, func() { lint.Run(set, []lint.Rule{rule}, lint.Target{}) })
			}
			for _, rule := range All() {
				if once, twice := work(rule, 100), work(rule, 200); twice > 2.7*once+100 {
					t.Errorf("%s: %.0f steps for 100, %.0f for 200", rule.ID, once, twice)
				}
			}
		})
	}
}
