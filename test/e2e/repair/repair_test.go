package repair

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"casement.dev/casement/internal/repair"
	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "every repair, and one that is given up")

const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      os: {name: windows}
      nodeSelector: {kubernetes.io/os: windows}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}
      containers:
      - name: iis
        image: mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022
        ports: [{containerPort: 80}]
        readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 2}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: web}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{port: 80}]
`

const healthCheck = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: demo-repair, namespace: default}
spec:
  clusterName: demo
  selector: {matchLabels: {cluster.x-k8s.io/deployment-name: demo-md-win}}
  checks:
    nodeStartupTimeoutSeconds: 600
    unhealthyNodeConditions:
    - {type: WindowsRepairFailed, status: "True", timeoutSeconds: 1}
`

// scene is a cluster with two Windows nodes, a service on them, and the addon for repairs.
type scene struct {
	t       *testing.T
	p       *plane.Plane
	kubectl func(...string) string
	address string
}

// node contains the fields of a Node that the test reads.
type node struct {
	Metadata struct{ Name, UID string }
	Spec     struct {
		ProviderID    string
		Unschedulable bool
	}
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
	}
}

// condition returns the status and the reason of a condition.
func (n node) condition(kind string) string {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c.Status + " " + c.Reason
		}
	}
	return ""
}

// until polls until missing returns "", and fails after limit.
func (s *scene) until(what string, limit time.Duration, missing func() string) {
	s.t.Helper()
	last := ""
	for end := time.Now().Add(limit); ; time.Sleep(250 * time.Millisecond) {
		if last = missing(); last == "" {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("waiting for %s takes more than %s: %s\n%s", what, limit, last,
				s.kubectl("-n", "kube-system", "logs", "-l", "k8s-app=windows-node-repair", "--tail=20", "--prefix"))
		}
	}
}

// nodes returns the Windows nodes by name.
func (s *scene) nodes() []node {
	var list struct{ Items []node }
	if err := json.Unmarshal([]byte(s.kubectl("get", "nodes", "-l", "kubernetes.io/os=windows", "-o", "json")), &list); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// find returns the current version of a node, and false if the node was deleted or replaced by one
// with another UID.
func (s *scene) find(n node) (node, bool) {
	i := slices.IndexFunc(s.nodes(), func(o node) bool { return o.Metadata.UID == n.Metadata.UID })
	if i < 0 {
		return node{}, false
	}
	return s.nodes()[i], true
}

// events returns the number of events of a node with a reason.
func (s *scene) events(n node, reason string) int {
	out := s.kubectl("get", "events", "-n", "default", "--field-selector", "involvedObject.name="+n.Metadata.Name+",reason="+reason,
		"-o", "name")
	return strings.Count(out, "\n")
}

// inject injects a fault into the machine of a node.
func (s *scene) inject(n node, fault string) {
	s.p.Run(nil, "azure", "faults", "clear")
	s.p.Run(nil, "azure", "faults", "add", "guest", "--guest-fault", fault, "--name", path.Base(n.Spec.ProviderID))
}

// well waits until both replicas are ready, one on each node, and no node is cordoned or has a
// fault.
func (s *scene) well() {
	s.t.Helper()
	s.until("the service", 4*time.Minute, func() string {
		for _, n := range s.nodes() {
			if n.Spec.Unschedulable || n.condition(repair.Condition) != "False NothingToRepair" || !strings.HasPrefix(n.condition("Ready"), "True") {
				return n.Metadata.Name + ": " + n.condition("Ready") + ", " + n.condition(repair.Condition)
			}
		}
		if got := s.kubectl("get", "deployment", "web", "-o", "jsonpath={.status.availableReplicas}"); got != "2" {
			return got + " replicas"
		}
		return ""
	})
}

// served waits until both replicas are ready, one on each node.
func (s *scene) served() {
	s.t.Helper()
	s.until("the replicas", 4*time.Minute, func() string {
		if got := s.kubectl("get", "deployment", "web", "-o", "jsonpath={.status.availableReplicas}"); got != "2" {
			return got + " replicas"
		}
		return ""
	})
}

// podOn returns the UID of the service's pod on a node, or "".
func (s *scene) podOn(n node) string {
	return s.kubectl("get", "pods", "-l", "app=web", "--field-selector", "spec.nodeName="+n.Metadata.Name,
		"-o", "jsonpath={.items[*].metadata.uid}")
}

// doctor checks that `casement doctor --fix` drains a node only if the fix breaks connections, and
// that a node that was cordoned before stays cordoned.
func (s *scene) doctor() {
	t := s.t
	for _, test := range []struct {
		name, fault      string
		drains, cordoned bool
	}{
		{"a step that breaks connections", "hns-stopped", true, false},
		{"on a node that is cordoned", "hns-stopped", true, true},
		{"a step that breaks none", "mtu", false, false},
	} {
		t.Run("doctor/"+test.name, func(t *testing.T) {
			s.t = t
			s.served()
			victim := s.nodes()[0]
			pod := s.podOn(victim)
			if test.cordoned {
				s.kubectl("cordon", victim.Metadata.Name)
				defer s.kubectl("uncordon", victim.Metadata.Name)
			}
			stop := s.client()
			s.inject(victim, test.fault)
			out := s.p.Everything("doctor", victim.Metadata.Name, "--fix")
			draining, ran := strings.Index(out, ": draining\n"), strings.Index(out, ": ran ")
			if ran < 0 || test.drains != (draining >= 0) || draining > ran {
				t.Errorf("doctor --fix says:\n%s", out)
			}
			if moved := s.podOn(victim) != pod; pod == "" || moved != test.drains {
				t.Errorf("the pod of %s has moved: %t", victim.Metadata.Name, moved)
			}
			if now, same := s.find(victim); !same || now.Spec.Unschedulable != test.cordoned {
				t.Errorf("node %s is cordoned: %t", victim.Metadata.Name, now.Spec.Unschedulable)
			}
			// Until its probe fails, the load balancer sends connections to a node whose kube-proxy
			// restarts.
			if asked, lost := stop(); lost > 0 && !test.drains {
				t.Errorf("a client lost %d of %d requests", lost, asked)
			} else {
				t.Logf("a client lost %d of %d requests", lost, asked)
			}
		})
	}
}

// client requests the service until stop is called, and counts the requests and the lost ones.
func (s *scene) client() (stop func() (asked, lost int64)) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var asked, lost atomic.Int64
	done := make(chan struct{})
	web := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		defer close(done)
		for tick := time.NewTicker(25 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			resp, err := web.Get("http://" + s.address + "/")
			asked.Add(1)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if err != nil || resp.StatusCode != http.StatusOK {
				lost.Add(1)
			}
		}
	}()
	return func() (int64, int64) { cancel(); <-done; return asked.Load(), lost.Load() }
}

// TestRepair checks that a service on two Windows nodes survives each fault of the table. The node
// is repaired and not replaced, an event reports the repair, and the node accepts pods again. A
// fault that a repair does not remove is given up after its limit, and the machine is replaced.
func TestRepair(t *testing.T) {
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=2", "WORKER_MACHINE_COUNT=0")
	p.Run(nil, "up")
	p.Create("demo", "windows")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	s := &scene{t: t, p: p, kubectl: p.Workload("demo")}
	p.Run([]byte(workload), "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "apply", "-f", "-")
	s.until("the service's address", 2*time.Minute, func() string {
		if s.address = s.kubectl("get", "service", "web", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}"); s.address == "" {
			return "none"
		}
		return ""
	})
	s.doctor()
	s.t = t
	p.Run(nil, "addons", "install", "--cluster", "demo", "windows-node-repair")
	s.until("the addon", time.Minute, func() string {
		_, err := p.Try(nil, "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "-n", "kube-system", "get", "daemonset/windows-node-repair")
		if err != nil {
			return err.Error()
		}
		return ""
	})
	s.kubectl("-n", "kube-system", "set", "env", "daemonset/windows-node-repair", "HOLD_SECONDS=2", "INTERVAL_SECONDS=2", "YOUTH_SECONDS=0")
	s.kubectl("-n", "kube-system", "rollout", "status", "daemonset/windows-node-repair", "--timeout=2m")
	s.well()
	for _, test := range []struct {
		fault, reason string
		short         bool
		harm          func(node)
	}{
		{"kubelet-stopped", "KubeletStopped", true, nil},
		{"hns-stopped", "HNSStopped", true, nil},
		{"source-vip-stale", "SourceVIPStale", false, nil},
		{"shim-hangs", "ShimHangs", false, func(n node) {
			s.kubectl("delete", "pod", "-l", "app=web", "--field-selector", "spec.nodeName="+n.Metadata.Name, "--wait=false")
		}},
		{"runtime-down", "ContainerdStopped", false, nil},
		{"source-vip", "SourceVIPInvalid", false, nil},
		{"hns-leak", "EndpointsStale", false, nil},
		{"images-unused", "DiskFull", false, nil},
	} {
		if !*full && !test.short {
			continue
		}
		t.Run(test.reason, func(t *testing.T) {
			s.t = t
			s.well()
			victim := s.nodes()[0]
			stop := s.client()
			began := time.Now()
			s.inject(victim, test.fault)
			if test.harm != nil {
				test.harm(victim)
			}
			s.until("the repair", 5*time.Minute, func() string {
				if s.events(victim, test.reason) == 0 {
					return "no event " + test.reason
				}
				return ""
			})
			s.well()
			asked, lost := stop()
			if _, same := s.find(victim); !same {
				t.Errorf("node %s was replaced", victim.Metadata.Name)
			}
			t.Logf("%s: repaired after %s; a client lost %d of %d requests", test.reason, time.Since(began).Round(time.Second), lost, asked)
		})
	}
	if !*full {
		return
	}
	t.Run("given up", func(t *testing.T) {
		s.t = t
		p.Run(nil, "kubectl", "delete", "machinehealthcheck", "--all", "-n", "default")
		p.Run([]byte(healthCheck), "kubectl", "apply", "-f", "-")
		s.well()
		victim := s.nodes()[0]
		before := s.events(victim, "DiskFull")
		s.inject(victim, "disk-full") // no file on the node can be deleted
		s.until("the bound", 5*time.Minute, func() string {
			if n, there := s.find(victim); there && n.condition(repair.Condition) != "True DiskFull" {
				return n.condition(repair.Condition)
			}
			return ""
		})
		i := slices.IndexFunc(repair.Repairs(), func(r repair.Repair) bool { return r.Name == "DiskFull" })
		if n := s.events(victim, "DiskFull"); n > repair.Repairs()[i].Times || n < before {
			t.Errorf("it was tried %d times", n)
		}
		s.until("another machine", 5*time.Minute, func() string {
			if _, there := s.find(victim); there || len(s.nodes()) != 2 {
				return "node " + victim.Metadata.Name + " is there"
			}
			return ""
		})
		s.well()
	})
}
