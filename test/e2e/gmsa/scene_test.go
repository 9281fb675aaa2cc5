package gmsa

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// scene is the cluster whose Windows machines are in the domain.
type scene struct {
	*plane.Plane
	t *testing.T
	// workload runs kubectl on the cluster.
	workload func(args ...string) string
}

// manage runs kubectl on the management cluster.
func (s *scene) manage(args ...string) string {
	return s.Run(nil, append([]string{"kubectl"}, args...)...)
}

// set is the name of the MachineDeployment of the Windows machines.
const set = cluster + "-md-win"

func (s *scene) machines() []string {
	return strings.Fields(s.manage("get", "machines", "-l", "cluster.x-k8s.io/deployment-name="+set, "-o",
		"jsonpath={.items[*].metadata.name}"))
}

// patience limits each wait of a scene.
const patience = 3 * time.Minute

// until polls until right returns true; a failure contains its last text.
func (s *scene) until(what string, right func() (bool, string)) {
	s.t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		ok, answer := right()
		if ok {
			return
		}
		last = answer
	}
	s.t.Fatalf("%s: not within %s; last:\n%s", what, patience, last)
}

// why waits until the diagnosis of an object names a cause.
func (s *scene) why(cause string, object ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("why %v is %s", object, cause), func() (bool, string) {
		out := s.Everything(append(append([]string{"why"}, object...), "-o", "json")...)
		var answer struct{ Means struct{ Cause string } }
		_ = json.Unmarshal([]byte(out[:strings.LastIndexByte(out, '}')+1]), &answer) // invalid JSON leaves the cause empty
		return answer.Means.Cause == cause, out
	})
}

// fails adds a machine that fails, checks that the diagnosis names the cause, and deletes the
// machine.
func (s *scene) fails(cause string) {
	s.t.Helper()
	before := s.machines()
	s.manage("scale", "machinedeployment", set, "--replicas=2")
	added := ""
	s.until("a second machine", func() (bool, string) {
		for _, m := range s.machines() {
			if m != before[0] {
				added = m
			}
		}
		return added != "", ""
	})
	s.why(cause, added)
	s.manage("annotate", "machine", added, "cluster.x-k8s.io/delete-machine=yes")
	s.manage("scale", "machinedeployment", set, "--replicas=1")
	s.until("one machine again", func() (bool, string) { left := s.machines(); return len(left) == 1, strings.Join(left, " ") })
}

// iis is a web server pod with the identity of a credential spec.
const iis = `
apiVersion: v1
kind: Pod
metadata: {name: iis, labels: {app: iis}}
spec:
  terminationGracePeriodSeconds: 0
  nodeSelector: {kubernetes.io/os: windows}
  tolerations: [{operator: Exists}]
  securityContext: {windowsOptions: {gmsaCredentialSpecName: webapp1}}
  containers: [{name: iis, image: "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022", ports: [{containerPort: 80}]}]
`

// again deletes the pod and creates it again.
func (s *scene) again(kubeconfig string) {
	s.workload("delete", "pod", "iis", "--ignore-not-found", "--now")
	s.Run([]byte(iis), "kubectl", "--kubeconfig", kubeconfig, "apply", "-f", "-")
}

// ready waits until the pod is ready; a failure contains the answer of why.
func (s *scene) ready(kubeconfig string) {
	s.t.Helper()
	if _, err := s.Try(nil, "kubectl", "--kubeconfig", kubeconfig, "wait", "pod/iis", "--for=condition=Ready", "--timeout=3m"); err != nil {
		s.t.Fatalf("%v\n%s", err, s.Everything("why", "pod/iis", "--cluster", cluster))
	}
}

// noPassword searches for the password in everything that a machine, the plane and the clusters
// write or print: consoles, logs, events, specs, custom data and command lines.
func (s *scene) noPassword() {
	s.t.Helper()
	shown := map[string]string{
		"events": s.manage("get", "events", "-A", "-o", "yaml") +
			s.workload("get", "events", "-A", "-o", "yaml"),
		"objects": s.manage("get", "azuremachines,machines,kubeadmconfigs", "-A", "-o", "yaml") +
			s.workload("get", "pods,gmsacredentialspecs", "-A", "-o", "yaml"),
		"calls":     s.Run(nil, "azure", "log", "-o", "json", "--last", "2000"),
		"resources": s.Run(nil, "azure", "resources", "-o", "json"),
		"boot logs": s.Everything("logs", "--all", "boot"),
		"bootstrap": s.manage("get", "secrets", "-A", "-o", "jsonpath={.items[?(@.type=='cluster.x-k8s.io/secret')].data.value}"),
		"files":     s.Run(nil, "ssh", s.machines()[0], "--", "powershell", "Get-Content C:/join-domain.ps1"),
		"processes": strings.Join(s.Processes(s.Home), "\n"),
	}
	logs, err := filepath.Glob(filepath.Join(s.Home, "vms", "*", "*", "console.log"))
	if err != nil || len(logs) == 0 {
		s.t.Fatalf("no console is found: %v", err)
	}
	for _, file := range append(logs, filepath.Join(s.Home, "casement.log")) {
		data, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		shown[file] = string(data)
	}
	// Bootstrap data is in a Secret, encoded in base64.
	for word := range strings.FieldsSeq(shown["bootstrap"]) {
		data, err := base64.StdEncoding.DecodeString(word)
		if err != nil {
			s.t.Fatal(err)
		}
		shown["bootstrap"] += string(data)
	}
	for where, text := range shown {
		if text == "" {
			s.t.Errorf("%s: there is nothing to look at", where)
		}
		if strings.Contains(text, password) {
			s.t.Errorf("%s shows the password of the user who joins", where)
		}
	}
}
