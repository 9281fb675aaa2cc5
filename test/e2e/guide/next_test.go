package guide

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// trouble lists failures of workloads, each with the object that the user asks about.
var trouble = []struct{ asked, cause, manifest string }{
	{"pod/no-secret", "ConfigMissing", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "no-secret"}, "spec": {"containers": [
	  {"name": "c", "image": "registry.k8s.io/pause:3.10", "envFrom": [{"secretRef": {"name": "missing"}}]}],
	  "nodeSelector": {"kubernetes.io/os": "linux"}}}`},
	{"pod/nowhere", "Unschedulable", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "nowhere"}, "spec": {"containers": [
	  {"name": "c", "image": "registry.k8s.io/pause:3.10"}], "nodeSelector": {"disk": "fast"}}}`},
	{"pod/no-image", "ContainerImageNotFound", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "no-image"}, "spec": {"containers": [
	  {"name": "c", "image": "mcr.microsoft.com/windows/servercore:ltsc2099"}], "nodeSelector": {"kubernetes.io/os": "windows"},
	  "tolerations": [{"operator": "Exists"}]}}`},
	{"pvc/no-class", "StorageClassMissing", `{"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "no-class"}, "spec": {
	  "storageClassName": "gone", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}`},
	{"service/nothing", "SelectorMatchesNothing", `{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "nothing"}, "spec": {
	  "selector": {"app": "nothing"}, "ports": [{"port": 80}]}}`},
	{"ingress/shop", "IngressClassMissing", `{"kind": "Ingress", "apiVersion": "networking.k8s.io/v1", "metadata": {"name": "shop"}, "spec": {
	  "ingressClassName": "nginx", "defaultBackend": {"service": {"name": "iis", "port": {"number": 80}}}}}`},
	{"cronjob/off", "Suspended", `{"kind": "CronJob", "apiVersion": "batch/v1", "metadata": {"name": "off"}, "spec": {"suspend": true,
	  "schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
	  {"name": "c", "image": "registry.k8s.io/pause:3.10"}]}}}}}}`},
	{"deployment/iis", "Paused", ""},
}

// harmless matches the beginning of a command that only reads, or that repairs a fault of the test.
var harmless = regexp.MustCompile(`^(casement (addons list|get|tree|why|logs|wait|doctor|fetch|timeline|images|azure (log|resources))|` +
	`kubectl (--kubeconfig \S+ )?(get|describe|logs|rollout|annotate)) `)

// next runs the commands that answers suggest, each in the shell of a user who has followed the
// lines of `casement up`. Each command must succeed and print something.
func next(t *testing.T, w *world) {
	run := shell(t, w.p)
	for _, broken := range trouble {
		t.Run(broken.asked, func(t *testing.T) {
			if broken.manifest == "" {
				w.kubectl("rollout", "pause", "deployment/iis")
			} else {
				w.p.Run([]byte(broken.manifest), "kubectl", "--kubeconfig", w.kubeconfig, "apply", "-f", "-")
			}
			var answer struct {
				Seen  []struct{ Show string }
				Means struct{ Cause, Fix string }
			}
			for end := time.Now().Add(2 * time.Minute); answer.Means.Cause != broken.cause; time.Sleep(time.Second) {
				out := w.p.Everything("why", broken.asked, "--cluster", "demo", "-o", "json")
				// If the answer names a fault, the output continues with the exit code.
				if err := json.NewDecoder(strings.NewReader(out)).Decode(&answer); time.Now().After(end) {
					t.Fatalf("%v: why says %s", err, out)
				}
			}
			run(t, answer.Seen[0].Show)
			if command := within(answer.Means.Fix, w.kubeconfig); harmless.MatchString(command) {
				run(t, command)
			}
		})
	}
	for _, command := range []string{"casement get clusters", "casement tree demo", "casement doctor demo || true", "casement status",
		"casement get kubeconfig demo --file demo.kubeconfig && kubectl --kubeconfig demo.kubeconfig get nodes", "casement wait demo",
		"casement logs " + w.node + " kubelet"} {
		run(t, command)
	}
}

// within adds the kubeconfig of the workload cluster to a fix that is a single kubectl command.
func within(fix, kubeconfig string) string {
	if command, is := strings.CutPrefix(fix, "kubectl "); is && !strings.Contains(fix, "; ") && !strings.Contains(fix, "--kubeconfig") {
		return "kubectl --kubeconfig " + kubeconfig + " " + command
	}
	return fix
}

// shell returns a function that runs a command in bash, with kubectl and casement in its PATH and
// with the variables that `casement up` prints.
func shell(t *testing.T, p *plane.Plane) func(*testing.T, string) {
	dir := t.TempDir()
	kubectl := "#!/bin/sh\nexec casement kubectl \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, command string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -euo pipefail; "+command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CASEMENT_HOME="+p.Home, "KUBECONFIG="+filepath.Join(p.Home, "kubeconfig"),
			"PATH="+dir+":"+filepath.Dir(plane.Binary(t, "casement"))+":"+os.Getenv("PATH"))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || strings.TrimSpace(out.String()+errs.String()) == "" {
			t.Errorf("%s: %v\n%s%s", command, err, out.String(), errs.String())
		}
	}
}
