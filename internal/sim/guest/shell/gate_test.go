package shell_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// signals is an API server with one ConfigMap, which scripts that wait at a gate read and answer.
type signals struct {
	mu     sync.Mutex
	signal string // empty if there is no ConfigMap
	asked  int
	opens  int // the number of the request that opens the gate
}

// ServeHTTP implements http.Handler.
func (s *signals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer s3cret" || r.URL.Path != "/api/v1/namespaces/team-1/configmaps/gate" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if r.Method == http.MethodPatch {
		var patch struct{ Data map[string]string }
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil || r.Header.Get("Content-Type") != "application/merge-patch+json" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.signal = patch.Data["signal"]
	} else if s.asked++; s.asked == s.opens {
		s.signal = "open"
	}
	if s.signal == "" {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","code":404}`)
		return
	}
	fmt.Fprintf(w, `{"kind":"ConfigMap","data":{"signal":%q}}`, s.signal)
}

// routed sends every request to one server, whatever host the request names.
type routed struct{ *http.Transport }

func newRouted(server *httptest.Server) routed {
	return routed{&http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server.Listener.Addr().String())
	}}}
}

// WithTLS returns a routed to the same server with another TLS configuration.
func (r routed) WithTLS(c *tls.Config) http.RoundTripper {
	t := r.Transport.Clone()
	t.TLSClientConfig = c
	return t
}

// gate waits until a ConfigMap of a management cluster opens it, and answers. Cluster API's remediation spec delays
// machines before kubeadm in this way.
const gate = `#!/bin/bash

set -o errexit
set -o pipefail

echo "at the gate"
TOKEN=$1
API=$2
NAMESPACE=$3

while true;
do
  sleep 30s

  state=$(curl -k -s --header "Authorization: Bearer $TOKEN" $API/api/v1/namespaces/$NAMESPACE/configmaps/gate | jq -r .data.signal?)
  echo "state $state"

  if [ "$state" == "open" ]; then
     curl -k -s --header "Authorization: Bearer $TOKEN" -XPATCH -H "Content-Type: application/merge-patch+json" ` +
	`--data '{"data": {"signal": "passed"}}' $API/api/v1/namespaces/$NAMESPACE/configmaps/gate
     exit 0
  fi
done
`

func TestGateWithCurlAndJq(t *testing.T) {
	api := &signals{opens: 3}
	server := httptest.NewTLSServer(api)
	defer server.Close()
	m, err := machine.New(machine.Spec{
		ID: "vm", Dir: t.TempDir(), OS: machine.Linux, ComputerName: "cp-1", IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")},
		Image: machine.Image{Name: "Image", Release: "1", Build: "6.8.0"}, Speed: 1e6,
	}, nil, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Root.WriteFile("/gate.sh", []byte(gate), 0o777); err != nil {
		t.Fatal(err)
	}
	sh := shell.New(m, nil, newRouted(server))
	run := func(script string) (int, string) {
		var out bytes.Buffer
		code := sh.Sh(t.Context(), script, shell.Session{Stdout: &out, Stderr: &out, Dir: "/"})
		return code, out.String()
	}

	const management = `"https://management.casement.internal:6443"`
	code, out := run(`date +%s; ./gate.sh "s3cret" ` + management + ` "team-1"; echo; date +%s`)
	begun, rest, _ := strings.Cut(out, "\n")
	said, ended, _ := strings.Cut(strings.TrimSpace(rest), "}}\n")
	const want = "at the gate\nstate null\nstate null\nstate open\n" + `{"kind":"ConfigMap","data":{"signal":"passed"`
	if code != 0 || said != want || api.signal != "passed" {
		t.Errorf("code %d, %q, the signal is %q; want 0, %q, passed", code, said, api.signal, want)
	}
	// Three waits of 30 s have passed in the guest, and almost no time here.
	var from, to int64
	if _, err := fmt.Sscan(begun+" "+ended, &from, &to); err != nil || to-from < 90 || to-from > 120 {
		t.Errorf("the guest's clock went from %q to %q, %v; want 90 s", begun, ended, err)
	}

	// Without -k, curl refuses the certificate of a server that the guest does not trust.
	if code, out := run("curl -sS " + management + "/version"); code != 60 {
		t.Errorf("code %d: %s", code, out)
	}
	if code, _ := run("timeout 5 bash -c 'while true; do sleep 1; done'"); code != 124 {
		t.Errorf("a loop that waits longer than its timeout ends with %d", code)
	}
}
