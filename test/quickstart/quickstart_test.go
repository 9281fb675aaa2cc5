// Package quickstart runs what the README shows with the built binaries, as a new
// user would, in a state directory of its own.
package quickstart

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// plane runs casement with one state directory.
type plane struct {
	t    *testing.T
	home string
	bin  string
}

func newPlane(t *testing.T) plane {
	t.Helper()
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "casement")); err != nil {
		t.Fatalf("%v; build the binaries with: make build", err)
	}
	// t.TempDir is too long for unix sockets.
	home, err := os.MkdirTemp("", "cas")
	if err != nil {
		t.Fatal(err)
	}
	p := plane{t: t, home: home, bin: bin}
	t.Cleanup(func() {
		if t.Failed() {
			p.tell()
		}
		p.run(nil, "down", "--purge")
	})
	return p
}

// run runs casement and returns its standard output; a failure ends the test.
func (p plane) run(stdin []byte, args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "casement"), args...)
	cmd.Env = append(os.Environ(), "CASEMENT_HOME="+p.home, "KUBECONFIG=", "WINDOWS_WORKER_MACHINE_COUNT=1")
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("casement %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errOut.String())
	}
	return out.String()
}

// tell prints what one needs to find out why.
func (p plane) tell() {
	consoles, _ := filepath.Glob(filepath.Join(p.home, "vms", "*", "*", "console.log"))
	for _, file := range append(consoles, filepath.Join(p.home, "casement.log")) {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		p.t.Logf("%s:\n%s", filepath.Base(filepath.Dir(file)), data[max(0, len(data)-4000):])
	}
}

// TestQuickstart brings a mixed cluster up, uses it, takes it up again after the
// plane was ended, and deletes it without a trace.
func TestQuickstart(t *testing.T) {
	p := newPlane(t)
	p.run(nil, "up")
	manifest := p.run(nil, "generate", "cluster", "demo", "--flavor", "windows")
	p.run([]byte(manifest), "kubectl", "apply", "-f", "-")
	p.run(nil, "wait", "demo", "--timeout", "5m")
	kubeconfig := filepath.Join(p.home, "demo.kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(p.run(nil, "get", "kubeconfig", "demo")), 0o600); err != nil {
		t.Fatal(err)
	}
	workload := func(args ...string) string {
		return p.run(nil, append([]string{"kubectl", "--kubeconfig", kubeconfig}, args...)...)
	}
	nodes := workload("get", "nodes", "-o", "wide")
	for _, want := range []string{"Windows Server 2022 Datacenter", "10.0.20348.", "containerd://", "Ubuntu"} {
		if !strings.Contains(nodes, want) {
			t.Errorf("no node shows %q:\n%s", want, nodes)
		}
	}
	workload("apply", "-f", "../../examples/iis.yaml")
	workload("rollout", "status", "deployment/iis", "--timeout", "3m")
	page := p.run(nil, "fetch", "service/iis", "--kubeconfig", kubeconfig)
	if !strings.Contains(page, "simulated container default/iis-") {
		t.Errorf("the page does not name its container:\n%s", page)
	}
	// Applying the same template again changes nothing.
	p.run([]byte(manifest), "kubectl", "apply", "-f", "-")

	p.run(nil, "kubectl", "delete", "cluster", "demo", "--wait=false")
	p.run(nil, "wait", "demo", "--for", "deleted", "--timeout", "3m")
	if status := p.run(nil, "status"); strings.Contains(status, "demo-") {
		t.Errorf("something of the cluster is left:\n%s", status)
	}
}
