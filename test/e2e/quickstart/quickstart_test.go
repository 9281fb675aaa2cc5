package quickstart

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

// TestQuickstart creates a mixed cluster, uses it, and deletes it without a remainder.
func TestQuickstart(t *testing.T) {
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1")
	p.Run(nil, "up")
	manifest := p.Create("demo", "windows")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	workload := p.Workload("demo")
	nodes := workload("get", "nodes", "-o", "wide")
	for _, want := range []string{"Windows Server 2022 Datacenter", "10.0.20348.", "containerd://", "Ubuntu"} {
		if !strings.Contains(nodes, want) {
			t.Errorf("no node shows %q:\n%s", want, nodes)
		}
	}
	workload("apply", "-f", "../../../examples/iis.yaml")
	workload("rollout", "status", "deployment/iis", "--timeout", "3m")
	page := p.Run(nil, "fetch", "service/iis")
	if !strings.Contains(page, "simulated container default/iis-") {
		t.Errorf("the page does not name its container:\n%s", page)
	}
	pod := strings.TrimSpace(workload("get", "pods", "-l", "app=iis", "-o", "name"))
	pod, _, _ = strings.Cut(pod, "\n")
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"logs", []string{"logs", pod}, "simulated container default/iis-"},
		{"exec", []string{"exec", pod, "--", "cmd", "/c", "ver"}, "Version 10.0.20348."},
		{"describe", []string{"describe", pod}, "Container started"},
	} {
		if got := workload(c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%s does not show %q:\n%s", c.name, c.want, got)
		}
	}
	usesVolumesAndServices(t, p, workload)

	// Applying the same template again must change nothing.
	p.Run(manifest, "kubectl", "apply", "-f", "-")

	p.Run(nil, "kubectl", "delete", "cluster", "demo", "--wait=false")
	p.Run(nil, "wait", "demo", "--for", "deleted", "--timeout", "3m")
	if status := p.Run(nil, "status"); strings.Contains(status, "demo-") {
		t.Errorf("something of the cluster is left:\n%s", status)
	}
}

// usesVolumesAndServices checks that a Windows pod can mount a secret and a disk, and can call a
// Service by its name.
func usesVolumesAndServices(t *testing.T, p *plane.Plane, workload func(args ...string) string) {
	t.Helper()
	p.Run(nil, "addons", "install", "azuredisk-csi", "--cluster", "demo")
	workload("wait", "--for=create", "storageclass/csi-azuredisk", "--timeout=1m")
	workload("apply", "-f", "../../../examples/volumes.yaml")
	workload("wait", "--for=condition=Ready", "pod/client", "--timeout=2m")
	for _, c := range []struct {
		name, script, want string
	}{
		{"the secret", `Get-Content C:\token\password`, "open-sesame"},
		{"the disk", `Set-Content C:\data\kept.txt here; Get-Content C:\data\kept.txt`, "here"},
		{"the name of the Service", "(Resolve-DnsName iis).Name", "iis.default.svc.cluster.local"},
		{"the Service", "(Invoke-WebRequest -UseBasicParsing http://iis).Content", "simulated container default/iis-"},
	} {
		if got := workload("exec", "client", "--", "powershell", "-Command", c.script); !strings.Contains(got, c.want) {
			t.Errorf("%s: the pod does not show %q:\n%s", c.name, c.want, got)
		}
	}
	workload("delete", "pod", "client")
	workload("apply", "-f", "../../../examples/volumes.yaml")
	workload("wait", "--for=condition=Ready", "pod/client", "--timeout=2m")
	if got := workload("exec", "client", "--", "cmd", "/c", "type", `C:\data\kept.txt`); !strings.Contains(got, "here") {
		t.Errorf("the disk has lost its file with the pod:\n%s", got)
	}
	workload("delete", "-f", "../../../examples/volumes.yaml")
	workload("wait", "--for=delete", "persistentvolume", "--all", "--timeout=1m")
}
