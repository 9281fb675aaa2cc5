package addons

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// rollout is kubectl's option that limits the wait for an addon's pods.
const rollout = "--timeout=2m"

// TestAddons checks that after one command the pods of each addon are Ready on the nodes that it
// supports.
func TestAddons(t *testing.T) {
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=2", "WORKER_MACHINE_COUNT=1")
	p.Run(nil, "up")
	p.Create("demo", "windows")
	names := []string{"azuredisk-csi", "azurefile-csi", "windows-exporter", "windows-logs", "node-problem-detector-windows"}
	out := p.Run(nil, append([]string{"addons", "install", "--cluster", "demo"}, names...)...)
	for _, name := range names {
		if !strings.Contains(out, "gets "+name+" ") {
			t.Errorf("no %s in:\n%s", name, out)
		}
	}
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	kubectl := p.Workload("demo")
	for workload, addon := range map[string]string{
		"deployment/csi-azuredisk-controller":     "azuredisk-csi",
		"daemonset/csi-azuredisk-node":            "azuredisk-csi",
		"daemonset/csi-azuredisk-node-windows":    "azuredisk-csi",
		"deployment/csi-azurefile-controller":     "azurefile-csi",
		"daemonset/csi-azurefile-node":            "azurefile-csi",
		"daemonset/csi-azurefile-node-windows":    "azurefile-csi",
		"daemonset/windows-exporter":              "windows-exporter",
		"daemonset/containerd-logger":             "windows-logs",
		"daemonset/node-problem-detector-windows": "node-problem-detector-windows",
	} {
		t.Run(workload, func(t *testing.T) {
			until(t, "Cluster API brings "+addon, func() bool {
				_, err := p.Try(nil, "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "-n", "kube-system", "get", workload)
				return err == nil
			})
			kubectl("-n", "kube-system", "rollout", "status", workload, rollout)
		})
	}
	t.Run("nodes", func(t *testing.T) { conditions(t, kubectl) })
	t.Run("volumes", func(t *testing.T) { volumes(t, p, kubectl) })
	t.Run("top", func(t *testing.T) { top(t, p, kubectl) })
	for _, driver := range []string{"disk.csi.azure.com", "file.csi.azure.com"} {
		kubectl("get", "csidriver", driver)
	}
}

// top checks that the manifest of metrics-server is complete, and that kubectl top prints a line
// for each node.
func top(t *testing.T, p *plane.Plane, kubectl func(...string) string) {
	kubectl("apply", "-f", "testdata/metrics-server.yaml")
	kubectl("-n", "kube-system", "rollout", "status", "deployment/metrics-server", rollout)
	until(t, "kubectl top nodes", func() bool {
		out, err := p.Try(nil, "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "top", "nodes", "--no-headers")
		nodes := kubectl("get", "nodes", "--no-headers")
		return err == nil && strings.Count(strings.TrimSpace(out), "\n") == strings.Count(strings.TrimSpace(nodes), "\n")
	})
	if out := kubectl("top", "pods", "-n", "kube-system"); !strings.Contains(out, "metrics-server-") {
		t.Errorf("kubectl top pods has no metrics-server:\n%s", out)
	}
}

// until polls until is returns true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting for %s takes more than 3 minutes", what)
		}
	}
}

// conditions checks that only the Windows node has the conditions of node-problem-detector, and
// that it is Ready.
func conditions(t *testing.T, kubectl func(...string) string) {
	var list struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	until(t, "the conditions", func() bool {
		if err := json.Unmarshal([]byte(kubectl("get", "nodes", "-o", "json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, n := range list.Items {
			has := map[string]string{}
			for _, c := range n.Status.Conditions {
				has[c.Type] = c.Status
			}
			windows := n.Metadata.Labels["kubernetes.io/os"] == "windows"
			if has["Ready"] != "True" || windows != (has["HostNetworkUnhealthy"] == "False") {
				return false
			}
		}
		return len(list.Items) == 4
	})
}
