package guest_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/pki"
	"casement.dev/casement/internal/repair"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/guest/machine"
)

// apiOfNode is the API server that the agent sends its requests to: it has a node, its pods and the events.
type apiOfNode struct {
	node   map[string]any
	pods   []any
	events []string
	asked  []string
	lease  map[string]any
}

// RoundTrip implements http.RoundTripper.
func (a *apiOfNode) RoundTrip(r *http.Request) (*http.Response, error) {
	var body map[string]any
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = json.Unmarshal(data, &body) // a GET has none
	}
	a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	status, answer := http.StatusOK, any(map[string]any{})
	switch path := r.URL.Path; {
	case r.Header.Get("Authorization") != "Bearer secret-token":
		status = http.StatusUnauthorized
	case strings.HasSuffix(path, "/eviction"):
		a.pods = nil
	case strings.HasSuffix(path, "/configmaps/kubeadm-config"):
		answer = map[string]any{"data": map[string]any{"ClusterConfiguration": "networking:\n  podSubnet: 192.168.0.0/16\n"}}
	case strings.HasSuffix(path, "/pods"):
		answer = map[string]any{"items": a.pods}
	case strings.HasSuffix(path, "/events"):
		a.events = append(a.events, body["reason"].(string))
	case strings.HasSuffix(path, "/leases/windows-node-repair") && r.Method == http.MethodGet:
		if a.lease == nil {
			status = http.StatusNotFound
			break
		}
		answer = a.lease
	case strings.Contains(path, "/leases"):
		a.lease = body
	case strings.HasSuffix(path, "/status"):
		a.node["status"] = body["status"]
	case r.Method == http.MethodPatch:
		a.node["spec"] = body["spec"]
		a.node["metadata"].(map[string]any)["annotations"] = body["metadata"].(map[string]any)["annotations"]
	default:
		answer = a.node
	}
	data, err := json.Marshal(answer)
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body:    io.NopCloser(bytes.NewReader(data)),
		Request: r, ProtoMajor: 1, ProtoMinor: 1}, err
}

// condition returns the status and the reason of the agent's condition on the node.
func (a *apiOfNode) condition() string {
	status, _ := a.node["status"].(map[string]any)
	for _, c := range status["conditions"].([]any) {
		if one := c.(map[string]any); one["type"] == repair.Condition {
			return one["status"].(string) + " " + one["reason"].(string)
		}
	}
	return ""
}

// podsOfNode is a machine.Pods whose pods have processes in the guest.
type podsOfNode struct{ ended *[]string }

// Endpoints implements machine.Pods.
func (podsOfNode) Endpoints() []machine.HNSEndpoint {
	return []machine.HNSEndpoint{{Name: "default/web", IP: netip.MustParseAddr("192.168.1.4")}}
}

// Ranges implements machine.Pods.
func (podsOfNode) Ranges() []netip.Prefix { return nil }

// Balancers implements machine.Pods.
func (podsOfNode) Balancers() []machine.HNSBalancer { return nil }

// Processes implements machine.Pods.
func (p podsOfNode) Processes() []machine.PodProcess {
	end := func(name string) func() { return func() { *p.ended = append(*p.ended, name) } }
	return []machine.PodProcess{{ID: 200_000, Name: "kube-proxy", End: end("kube-proxy")},
		{ID: 200_004, Name: "containerd-shim-runhcs-v1", Line: "x -id uid-other", End: end("another shim")},
		{ID: 200_008, Name: "containerd-shim-runhcs-v1", Line: "x -id uid-web", End: end("shim")}}
}

// stepping is a clock that each wait moves forward.
type stepping struct{ *testclock.FakeClock }

// After implements clock.Clock.
func (s stepping) After(d time.Duration) <-chan time.Time {
	defer s.Step(d)
	return s.FakeClock.After(d)
}

// TestRepair checks that the addon's own script repairs each fault that its table lists, after a drain if the step
// breaks connections, and no more often than its bound; then the condition asks for another machine.
func TestRepair(t *testing.T) {
	sick := func(name string) func(*testing.T, *guest.Guest, *apiOfNode) {
		return func(t *testing.T, g *guest.Guest, _ *apiOfNode) {
			f, ok := guest.FindFault(name)
			if !ok {
				t.Fatalf("no fault %s", name)
			}
			if err := g.Inject(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	runs := func(service string) func(*guest.Guest) bool {
		return func(g *guest.Guest) bool { s, _ := g.Services().Get(service); return s.Running }
	}
	fine := func(good func(machine.Vitals) bool) func(*guest.Guest) bool {
		return func(g *guest.Guest) bool { return good(g.Machine().Pulse.Get()) }
	}
	ca, err := pki.Issue(x509.Certificate{IsCA: true, BasicConstraintsValid: true}, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	authority, _, err := pki.PEM(ca)
	if err != nil {
		t.Fatal(err)
	}
	noVIP := func(g *guest.Guest) bool { return !g.Machine().Root.Exists(`C:\sourcevip\sourceVip.json`) }
	for name, test := range map[string]struct {
		fail     func(*testing.T, *guest.Guest, *apiOfNode)
		repaired func(*guest.Guest) bool
		ended    string
	}{
		"ContainerdStopped": {sick("runtime-down"), runs("containerd"), ""},
		"KubeletStopped":    {sick("kubelet-stopped"), runs("kubelet"), ""},
		"HNSStopped":        {sick("hns-stopped"), runs("hns"), "kube-proxy"},
		"SourceVIPInvalid":  {sick("source-vip"), noVIP, "kube-proxy"},
		"SourceVIPStale":    {sick("source-vip-stale"), noVIP, "kube-proxy"},
		"EndpointsStale":    {sick("hns-leak"), fine(func(v machine.Vitals) bool { return v.StaleEndpoints == 0 }), "kube-proxy"},
		"DiskFull":          {sick("images-unused"), fine(func(v machine.Vitals) bool { return v.Free > 0.1 }), ""},
		"ShimHangs": {func(_ *testing.T, _ *guest.Guest, a *apiOfNode) {
			a.pods[0].(map[string]any)["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-02T03:00:00Z"
		}, nil, "shim"},
	} {
		t.Run(name, func(t *testing.T) {
			r, found := repair.Repair{}, false
			for _, one := range repair.Repairs() {
				if one.Name == name {
					r, found = one, true
				}
			}
			if !found {
				t.Fatal("it is not in the table")
			}
			c := windows(t, []byte("#cloud-config\n{}\n"))
			clock := stepping{c.Clock.(*testclock.FakeClock)}
			c.Clock = clock
			g, _ := boot(t, c)
			var ended []string
			m := g.Machine()
			m.Pods = podsOfNode{&ended}
			write := func(path, text string) {
				t.Helper()
				if err := m.Root.MkdirAll(m.Root.Abs(path, "..")); err != nil {
					t.Fatal(err)
				}
				if err := m.Root.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(`C:\pod\agent.ps1`, repair.Script())
			write(`C:\account\token`, "secret-token\n")
			write(`C:\account\ca.crt`, string(authority))
			write(`C:\etc\cni\net.d\10-calico.conflist`, `{"plugins":[{"type":"calico","mode":"vxlan"}]}`)
			write(`C:\var\log\pods\default_web_uid-web\web\0.log`, "")
			api := &apiOfNode{}
			node := func() {
				api.node = map[string]any{"metadata": map[string]any{"creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": map[string]any{},
					"status": map[string]any{"conditions": []any{}}}
				api.pods = []any{map[string]any{"metadata": map[string]any{"namespace": "default", "name": "web"},
					"status": map[string]any{"podIP": "192.168.1.4", "phase": "Running"}}}
			}
			pass := func() string {
				t.Helper()
				var out bytes.Buffer
				code, err := g.HostProcess(t.Context(), guest.HostProcess{
					Command: []string{"powershell.exe", "-Command", `& "$env:CONTAINER_SANDBOX_MOUNT_POINT/repair/agent.ps1" -Once`},
					Env: map[string]string{"NODE_NAME": "c1-md-wi-abcde", "KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443",
						"HOLD_SECONDS": "0"},
					Mounts: []guestfs.Mount{{Path: "/repair", Folder: m.Root.Folder(`C:\pod`)},
						{Path: "/var/run/secrets/kubernetes.io/serviceaccount", Folder: m.Root.Folder(`C:\account`)}},
					Web: api, Stdout: &out, Stderr: &out,
				})
				if err != nil || code != 0 {
					t.Fatalf("exit code %d, %v: %s", code, err, &out)
				}
				return out.String()
			}
			node()
			if pass(); api.condition() != "False NothingToRepair" || len(api.events) > 0 {
				t.Fatalf("a node without a fault has %q, %v", api.condition(), api.events)
			}
			for n := range r.Times + 1 {
				node()
				ended, api.asked = nil, nil
				test.fail(t, g, api)
				out := pass()
				if n == r.Times {
					if api.condition() != "True "+name {
						t.Errorf("after %d runs the condition is %q: %s", n, api.condition(), out)
					}
					if len(ended) > 0 || test.repaired != nil && test.repaired(g) {
						t.Errorf("it was repaired beyond its bound: %s", out)
					}
					break
				}
				if test.repaired != nil && !test.repaired(g) || strings.Join(ended, " ") != test.ended {
					t.Fatalf("run %d did not repair it (ended %v): %s", n+1, ended, out)
				}
				if drained := strings.Contains(strings.Join(api.asked, "\n"), "/eviction"); drained != r.Breaks {
					t.Errorf("drained: %t, want %t: %v", drained, r.Breaks, api.asked)
				}
				if last := api.events[len(api.events)-1]; last != name {
					t.Errorf("the event is %s", last)
				}
				node()
				if r.Breaks {
					api.node["metadata"].(map[string]any)["annotations"] = map[string]any{repair.Annotation: "2026-01-02T03:04:05Z"}
				}
				if pass(); api.condition() != "False NothingToRepair" {
					t.Errorf("after the repair the condition is %q", api.condition())
				}
				if spec, _ := api.node["spec"].(map[string]any); r.Breaks && (len(spec) != 1 || spec["unschedulable"] != nil) {
					t.Errorf("the node was not uncordoned: %v", api.node)
				}
			}
			clock.Step(time.Duration(r.Minutes+1) * time.Minute) // the bound is a number of repairs per time
			node()
			ended = nil
			test.fail(t, g, api)
			if out := pass(); test.repaired != nil && !test.repaired(g) || strings.Join(ended, " ") != test.ended {
				t.Errorf("later it is not repaired again: %s", out)
			}
		})
	}
}
