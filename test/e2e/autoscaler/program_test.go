package autoscaler

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/testing/plane"
)

// flags returns the flags that the program needs for Cluster API, and flags that shorten its waits:
// by default it waits ten minutes before it removes a node.
func flags(p *plane.Plane, management, address string) []string {
	return []string{
		"--cloud-provider=clusterapi",
		"--kubeconfig=" + p.Kubeconfig("demo"), "--cloud-config=" + management, "--clusterapi-cloud-config-authoritative",
		"--node-group-auto-discovery=clusterapi:namespace=default,clusterName=demo",
		"--leader-elect=false", "--address=" + address,
		// The annotations of a group about its nodes apply again when the group has no nodes.
		"--node-info-cache-expire-time=5s",

		"--scan-interval=2s", "--scale-down-unneeded-time=10s", "--scale-down-delay-after-add=5s", "--scale-down-unready-time=1m",
		"--unremovable-node-recheck-timeout=5s", "--skip-nodes-with-system-pods=false", "--max-node-provision-time=2m",
		"--initial-node-group-backoff-duration=10s", "--max-node-group-backoff-duration=20s",
	}
}

// start runs the autoscaler until the test ends.
func start(t *testing.T, program string, p *plane.Plane) {
	t.Helper()
	ports, err := freeport.Choose("127.0.0.1", 1)
	if err != nil {
		t.Fatal(err)
	}
	management := strings.TrimSpace(p.Run(nil, "status", "-o", "kubeconfig"))
	log := &tail{}
	cmd := exec.CommandContext(t.Context(), program, flags(p, management, fmt.Sprintf("127.0.0.1:%d", ports[0]))...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the end of the autoscaler's log:\n%s", log.String())
		}
	})
}

// tail keeps the last part of a log.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const tailSize = 16 << 10

func (l *tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	if l.text.Len() > 2*tailSize {
		l.text.Next(l.text.Len() - tailSize)
	}
	return len(b), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
