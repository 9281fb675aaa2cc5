package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/testing/guesttree"
)

func TestHealthInConditions(t *testing.T) {
	for name, test := range map[string]struct {
		health      Health
		ready, disk corev1.ConditionStatus
	}{
		"healthy":      {Health{}, corev1.ConditionTrue, corev1.ConditionFalse},
		"runtime down": {Health{RuntimeDown: true}, corev1.ConditionFalse, corev1.ConditionFalse},
		"disk full":    {Health{DiskFull: true}, corev1.ConditionTrue, corev1.ConditionTrue},
		"memory":       {Health{MemoryCommitted: true}, corev1.ConditionTrue, corev1.ConditionFalse},
		"sandbox":      {Health{Sandbox: "no"}, corev1.ConditionTrue, corev1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range conditions(nodeFacts{health: test.health}, nil) {
				want := map[corev1.NodeConditionType]corev1.ConditionStatus{
					corev1.NodeReady: test.ready, corev1.NodeDiskPressure: test.disk,
				}[c.Type]
				if c.Type == corev1.NodeMemoryPressure && (c.Status == corev1.ConditionTrue) != test.health.MemoryCommitted {
					t.Errorf("%s is %s", c.Type, c.Status)
				}
				if want != "" && c.Status != want {
					t.Errorf("%s is %s, want %s", c.Type, c.Status, want)
				}
			}
		})
	}
}

func TestSandboxProblem(t *testing.T) {
	const flannel = `{"name":"f","type":"flannel"}`
	for name, test := range map[string]struct {
		health Health
		files  map[string]string
		want   string
	}{
		"none":                 {Health{}, nil, ""},
		"runtime":              {Health{RuntimeDown: true, Sandbox: "x"}, nil, "runtime is down"},
		"sandbox":              {Health{Sandbox: "HNS failed"}, nil, "HNS failed"},
		"flannel, no subnet":   {Health{}, map[string]string{cniFolder + "/10.conf": flannel}, "subnet.env"},
		"flannel and a subnet": {Health{}, map[string]string{cniFolder + "/10.conf": flannel, subnetEnv: "x"}, ""},
		"flannel is second": {Health{}, map[string]string{
			cniFolder + "/05.conf": `{"name":"c","type":"calico"}`, cniFolder + "/10.conf": flannel,
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files, root := guesttree.New(t)
			for path, text := range test.files {
				at := filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			k := &Kubelet{c: Config{Files: files, Health: func() Health { return test.health }}}
			if got := k.sandboxProblem(); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
