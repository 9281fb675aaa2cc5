package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAsked counts the requests in an audit log that end after an offset. The last line of the log
// is incomplete, as if it were being written.
func TestAsked(t *testing.T) {
	const before = `{"stage":"ResponseComplete","verb":"get","requestURI":"/earlier"}
`
	const patch = `{"stage":"ResponseComplete","verb":"patch","userAgent":"kwok/v0.8.0 (linux/amd64)",
		"user":{"username":"a"},"objectRef":{"resource":"nodes","subresource":"status"}}
`
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(before+`
{"stage":"ResponseStarted","verb":"watch","userAgent":"kubectl/v1","objectRef":{"resource":"nodes"}}
`+patch+patch+`{"stage":"ResponseComplete","verb":"get","userAgent":"kubectl/v1.36.3 (linux/amd64) kubernetes/3bc1472",
"user":{"username":"admin"},"requestURI":"/metrics?x=1"}
{"stage":"Respo`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := asked(file, int64(len(before)))
	if err != nil {
		t.Fatal(err)
	}
	status, metrics := askedRow("kwok as a", "nodes/status", "patch"), askedRow("kubectl as admin", "/metrics", "get")
	if len(got) != 2 || got[status] != 2 || got[metrics] != 1 {
		t.Errorf("%v", got)
	}
	var out bytes.Buffer
	answered{api: "API", asked: got}.print(&out, 2)
	if lines := strings.Split(out.String(), "\n"); !strings.Contains(lines[2], status) || !strings.HasSuffix(lines[2], " 1.00") {
		t.Errorf("%s", out.String())
	}
	if got, err := asked(file+".1", 0); err != nil || got != nil {
		t.Errorf("of a log that is missing: %v, %v", got, err)
	}
}

// TestAgent checks that parts of one program that name themselves in the user agent are counted
// separately.
func TestAgent(t *testing.T) {
	for userAgent, want := range map[string]string{
		"kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/3bc1472/system:serviceaccount:kube-system:node-controller": "" +
			"kube-controller-manager/system:serviceaccount:kube-system:node-controller",
		"kwok/v0.8.0 (linux/amd64)": "kwok",
		"Go-http-client/2.0":        "Go-http-client/2.0",
		"":                          "",
	} {
		if got := agent(userAgent); got != want {
			t.Errorf("%s: %q, want %q", userAgent, got, want)
		}
	}
}

// TestLeaveOutKwok checks that only kwok is left out if its program is missing.
func TestLeaveOutKwok(t *testing.T) {
	dir := t.TempDir()
	s := scale{kinds: []string{"pool", kwok}}
	if err := s.leaveOutKwok(dir); err != nil || len(s.kinds) != 1 || s.kinds[0] != "pool" {
		t.Errorf("%v, %v", s.kinds, err)
	}
	if err := (&scale{kinds: []string{kwok}}).leaveOutKwok(dir); err == nil {
		t.Error("nothing is left, and that is no error")
	}
	for _, file := range []string{kwok, kwokStages} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = scale{kinds: []string{kwok}}
	if err := s.leaveOutKwok(dir); err != nil || len(s.kinds) != 1 {
		t.Errorf("%v, %v", s.kinds, err)
	}
}

// TestAudited checks that nothing but the API server of the control plane is changed.
func TestAudited(t *testing.T) {
	got, err := audited([]byte(`kind: Cluster
spec: {a: b}
---
kind: KubeadmControlPlane
spec:
  kubeadmConfigSpec:
    clusterConfiguration:
      controllerManager: {}
    files:
    - path: /etc/kubernetes/azure.json
`))
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(got), "\n---\n")
	if before != "kind: Cluster\nspec: {a: b}" {
		t.Errorf("the other document is %q", before)
	}
	for _, want := range []string{"controllerManager: {}", "path: /etc/kubernetes/azure.json", "value: " + guestPolicy, "value: " + guestLog,
		"path: " + guestPolicy, "mountPath: /var/log/kubernetes"} {
		if !strings.Contains(after, want) {
			t.Errorf("%q is missing in\n%s", want, after)
		}
	}
}
