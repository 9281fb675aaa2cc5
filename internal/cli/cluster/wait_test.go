package cluster

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/rollout"
	"casement.dev/casement/internal/plane"
)

func TestResuming(t *testing.T) {
	const id = "/subscriptions/s/resourceGroups/demo/providers/Microsoft.Compute/virtualMachines/"
	o := rollout.Objects{Cluster: &clusterv1.Cluster{}}
	o.Cluster.Name = "demo"
	o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "127.20.0.1", Port: 6443}
	machine := clusterv1.Machine{}
	machine.Spec.ProviderID = "azure://" + id + "cp"
	o.Machines = []clusterv1.Machine{machine}
	vm := func(name, phase string) plane.Guest { return plane.Guest{ID: id + name, Name: name, Phase: phase} }
	frontend := func(address string, healthy int) []plane.Listener {
		return []plane.Listener{{Address: address, Backends: 1, Healthy: healthy}}
	}
	for name, test := range map[string]struct {
		status plane.Status
		want   string
	}{
		"all run":    {plane.Status{Guests: []plane.Guest{vm("cp", "Running")}, Listeners: frontend("127.20.0.1:6443", 1)}, ""},
		"a VM boots": {plane.Status{Guests: []plane.Guest{vm("cp", "Booting")}}, "VM cp: it is booting"},
		"its ID is in other case": {
			plane.Status{Guests: []plane.Guest{{ID: strings.ToUpper(id) + "CP", Name: "cp", Phase: "Off"}}},
			"VM cp: it is off",
		},
		"another cluster's boots": {plane.Status{Guests: []plane.Guest{vm("cp", "Running"), vm("other", "Booting")}}, ""},
		"no backend answers": {
			plane.Status{Listeners: frontend("127.20.0.1:6443", 0)},
			"Cluster demo: its API server at 127.20.0.1:6443 does not answer",
		},
		"another cluster's do not": {plane.Status{Listeners: frontend("127.20.0.2:6443", 0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resuming(o, test.status); got != test.want {
				t.Errorf("resuming: %q, want %q", got, test.want)
			}
		})
	}
}

// TestUnanswered checks that a busy API server does not end a wait, and that a wrong address or a refusal does.
func TestUnanswered(t *testing.T) {
	get := func(t *testing.T, accept func(net.Conn)) error {
		t.Helper()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		if accept == nil {
			_ = listener.Close()
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				accept(conn)
			}
		}()
		c := &http.Client{Transport: &http.Transport{TLSHandshakeTimeout: 20 * time.Millisecond}}
		answer, err := c.Get("https://" + listener.Addr().String())
		if err == nil {
			_ = answer.Body.Close()
			t.Fatal("no error")
		}
		return err
	}
	silent := func(conn net.Conn) { go func() { _, _ = io.Copy(io.Discard, conn) }() }
	for name, c := range map[string]struct {
		err         error
		first, late bool
	}{
		"a TLS handshake that is not answered": {get(t, silent), true, true},
		"a connection that is refused":         {get(t, nil), false, true},
		"a connection that is closed":          {get(t, func(conn net.Conn) { _ = conn.Close() }), false, true},
		"too many requests":                    {apierrors.NewTooManyRequests("busy", 1), true, true},
		"a timeout of the server":              {apierrors.NewTimeoutError("etcd", 1), true, true},
		"a plane with other things to do":      {fmt.Errorf("%w (deadline)", plane.ErrNoAnswer), true, true},
		"a plane that has ended":               {plane.ErrNotRunning, false, false},
		"a wrong token":                        {apierrors.NewUnauthorized("token"), false, false},
		"a bad object":                         {apierrors.NewBadRequest("name"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for answered, want := range map[bool]bool{false: c.first, true: c.late} {
				if got := (&waited{answered: answered}).unanswered(t.Context(), c.err); got != want {
					t.Errorf("answered before %v: %v, want %v for %v", answered, got, want, c.err)
				}
			}
		})
	}
}
