package kubeadm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cluster-bootstrap/token/jws"

	"casement.dev/casement/internal/testing/guesttree"
)

// controlPlane is an API server for the requests of a join.
type controlPlane struct {
	*httptest.Server
	node  *corev1.Node
	token string // signs the cluster information
	asked []string
}

func newControlPlane(t *testing.T) *controlPlane {
	t.Helper()
	c := &controlPlane{token: token}
	c.Server = httptest.NewTLSServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP serves kubeadm's ConfigMaps and Nodes.
func (c *controlPlane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.asked = append(c.asked, r.URL.Path)
	switch name := filepath.Base(r.URL.Path); {
	case name == "cluster-info":
		k := &kubeconfig{server: c.URL, ca: c.ca()}
		data, err := k.render("")
		if err != nil {
			panic(err)
		}
		id, secret, _ := strings.Cut(c.token, ".")
		signature, err := jws.ComputeDetachedSignature(string(data), id, secret)
		if err != nil {
			panic(err)
		}
		c.answer(w, corev1.ConfigMap{Data: map[string]string{"kubeconfig": string(data), "jws-kubeconfig-abcdef": signature}})
	case r.Header.Get("Authorization") != "Bearer "+token:
		http.Error(w, `{"message":"Unauthorized"}`, http.StatusUnauthorized)
	case name == "kubeadm-config":
		c.answer(w, corev1.ConfigMap{})
	case name == "kubelet-config":
		c.answer(w, corev1.ConfigMap{Data: map[string]string{"kubelet": "staticPodPath: /etc/kubernetes/manifests\n" +
			"authentication: {x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}}\n"}})
	case c.node != nil && name == c.node.Name:
		c.answer(w, c.node)
	default:
		http.Error(w, `{"message":"not found"}`, http.StatusNotFound)
	}
}

func (c *controlPlane) answer(w http.ResponseWriter, o any) { _ = json.NewEncoder(w).Encode(o) }

// ca returns the server's self-signed certificate (PEM).
func (c *controlPlane) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
}

func (c *controlPlane) pin() string {
	sum := sha256.Sum256(c.Certificate().RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// machine returns the options of a join on a machine whose files are in a directory. Its kubelet
// has a certificate immediately after its start.
func (c *controlPlane) machine(t *testing.T, system string, out *bytes.Buffer) (Options, string) {
	t.Helper()
	files, root := guesttree.New(t)
	o := Options{OS: system, Hostname: "node1", Version: "v1.36.3", Files: files, Out: out, Clock: hasty{},
		CRISockets: []string{"unix:///run/containerd/containerd.sock"}, Dial: (&net.Dialer{}).DialContext}
	if system == "windows" {
		o.CRISockets = []string{`npipe:////./pipe/containerd-containerd`}
	}
	o.Config = fmt.Appendf(nil, `apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {kubeletExtraArgs: [{name: v, value: "4"}]}
discovery:
  bootstrapToken: {token: %s, apiServerEndpoint: %q, caCertHashes: [%q]}
`, token, strings.TrimPrefix(c.URL, "https://"), c.pin())
	o.StartKubelet = func(context.Context) error {
		k := &kubeconfig{server: c.URL, ca: c.ca(), user: kubeconfigUser{CertFile: "/var/lib/kubelet/pki/kubelet-client-current.pem"}}
		data, err := k.render("kubelet")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, kubeletConf), data, 0o600)
	}
	return o, root
}

func TestJoin(t *testing.T) {
	for name, want := range map[string][]string{
		"linux":   {"staticPodPath: /etc/kubernetes/manifests", "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock"},
		"windows": {"staticPodPath: C:/etc/kubernetes/manifests", "clientCAFile: C:/etc/kubernetes/pki/ca.crt", `resolvConf: ""`},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := newControlPlane(t), &bytes.Buffer{}
			o, root := c.machine(t, name, out)
			if err := Join(t.Context(), o); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			config, err := os.ReadFile(filepath.Join(root, kubeletConfig))
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range want {
				if !strings.Contains(string(config), line) {
					t.Errorf("the kubelet's configuration has no %q:\n%s", line, config)
				}
			}
			flags, err := os.ReadFile(filepath.Join(root, kubeletFlags))
			if err != nil || string(flags) != "KUBELET_KUBEADM_ARGS=\"--v=4\"\n" {
				t.Errorf("flags %s, %v", flags, err)
			}
			if ca, err := os.ReadFile(filepath.Join(root, caCert)); err != nil || !bytes.Equal(ca, c.ca()) {
				t.Errorf("the CA is not the cluster's: %v", err)
			}
			for _, gone := range []string{bootstrapConf, joinMarker} {
				if _, err := os.Stat(filepath.Join(root, gone)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left: %v", gone, err)
				}
			}
			if strings.Contains(out.String(), token) {
				t.Error("the token is printed")
			}
		})
	}
}

// TestJoinFails checks that the error of a failed join contains the reason and the name of the file
// or field.
func TestJoinFails(t *testing.T) {
	ready := &corev1.Node{}
	ready.Name = "node1"
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for name, c := range map[string]struct {
		system string
		change func(*testing.T, *controlPlane, *Options)
		want   string
	}{
		"another CA": {"linux", func(_ *testing.T, c *controlPlane, o *Options) {
			o.Config = bytes.ReplaceAll(o.Config, []byte(c.pin()), []byte(pin))
		}, "none of the public keys"},
		"another token signed": {"linux", func(_ *testing.T, c *controlPlane, _ *Options) {
			c.token = "abcdef.fedcba9876543210"
		}, "failed to verify JWS signature"},
		"token has expired": {"linux", func(_ *testing.T, _ *controlPlane, o *Options) {
			o.Config = bytes.ReplaceAll(o.Config, []byte(token), []byte("ffffff.0123456789abcdef"))
		}, `token ID "ffffff"`},
		"no network": {"linux", func(_ *testing.T, _ *controlPlane, o *Options) { o.Dial = nil }, "network is unreachable"},
		"name taken": {"linux", func(_ *testing.T, c *controlPlane, _ *Options) { c.node = ready }, `a Node with name "node1"`},
		"joined before": {"linux", func(t *testing.T, _ *controlPlane, o *Options) {
			if err := (&join{Options: *o}).write(kubeletConf, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, kubeletConf + " already exists"},
		"static pods": {"linux", func(t *testing.T, _ *controlPlane, o *Options) {
			if err := (&join{Options: *o}).write(manifestsFolder+"/etcd.yaml", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, manifestsFolder + " is not empty"},
		"image lacks": {"windows", func(_ *testing.T, _ *controlPlane, o *Options) {
			o.Lacks = []Lack{{"FileExisting-kubelet.exe", "kubelet.exe is not in PATH"}}
		}, "[ERROR FileExisting-kubelet.exe]: kubelet.exe is not in PATH"},
		"socket of Linux on Windows": {"windows", func(_ *testing.T, _ *controlPlane, o *Options) {
			o.Config = bytes.ReplaceAll(o.Config, []byte("nodeRegistration: {"), []byte("nodeRegistration: {criSocket: /run/x.sock, "))
		}, "named pipe"},
		"kubelet never has a certificate": {"linux", func(_ *testing.T, _ *controlPlane, o *Options) {
			o.StartKubelet = nil
		}, "the kubelet wrote no usable " + kubeletConf},
		"kubelet does not start": {"linux", func(_ *testing.T, _ *controlPlane, o *Options) {
			o.StartKubelet = func(context.Context) error { return errors.New("no service kubelet") }
		}, "no service kubelet"},
	} {
		t.Run(name, func(t *testing.T) {
			control, out := newControlPlane(t), &bytes.Buffer{}
			o, root := control.machine(t, c.system, out)
			c.change(t, control, &o)
			err := Join(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if all := err.Error() + out.String(); strings.Contains(all, token) {
				t.Error("the token is printed")
			}
			if _, err := os.Stat(filepath.Join(root, joinMarker)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a join that failed can be resumed: %v", err)
			}
		})
	}
}

// TestIgnorePreflight: the failure of an ignored check, named in any case, is only a warning.
func TestIgnorePreflight(t *testing.T) {
	for _, ignore := range []string{"all", "fileexisting-CONNTRACK"} {
		c, out := newControlPlane(t), &bytes.Buffer{}
		o, _ := c.machine(t, "linux", out)
		o.Lacks, o.IgnorePreflight = []Lack{{"FileExisting-conntrack", "conntrack not found"}}, []string{ignore}
		if err := Join(t.Context(), o); err != nil || !strings.Contains(out.String(), "[WARNING FileExisting-conntrack]: conntrack not found") {
			t.Errorf("%s: %v\n%s", ignore, err, out)
		}
	}
}

// TestJoinResumes checks that a join that was interrupted at any request continues with the files
// of the first run and has the same result as an uninterrupted join.
func TestJoinResumes(t *testing.T) {
	c, out := newControlPlane(t), &bytes.Buffer{}
	o, _ := c.machine(t, "windows", out)
	if err := Join(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for cut := range len(c.asked) + 1 {
		o, _ := c.machine(t, "windows", out)
		whole, ctx := o, context.Background()
		ctx, cancel := context.WithCancel(ctx)
		asked := 0
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if asked++; asked > cut {
				cancel()
			}
			return whole.Dial(ctx, network, address)
		}
		start := o.StartKubelet
		o.StartKubelet = func(ctx context.Context) error { cancel(); return start(ctx) }
		if err := Join(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		whole.Resume = true
		if err := Join(t.Context(), whole); err != nil {
			t.Errorf("resumed after a cut at %d: %v", cut, err)
		}
	}
}
