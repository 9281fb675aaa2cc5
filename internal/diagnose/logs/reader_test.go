package logs_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/diagnose/logs"
	"casement.dev/casement/internal/sim/guest"
)

// buffer collects a printer's output while a test reads it concurrently.
type buffer struct {
	mu    sync.Mutex
	grown *sync.Cond
	b     bytes.Buffer
}

func newBuffer() *buffer {
	b := &buffer{}
	b.grown = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.grown.Broadcast()
	return b.b.Write(p)
}

// await waits until the text appears; the test's own timeout limits the wait.
func (b *buffer) await(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !strings.Contains(b.b.String(), text) {
		b.grown.Wait()
	}
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// bootGuest boots a guest with logs and logs in to it.
func bootGuest(t *testing.T, system string) (*guest.Guest, *ssh.Client) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	g, err := guest.New(guest.Config{Machine: guest.Machine{
		ID: "/vm/n", InstanceID: "n", Dir: t.TempDir(), OS: system, ComputerName: "n", AdminUsername: "capi",
		IPs: []netip.Addr{netip.MustParseAddr("10.1.0.5")},
		CustomData: []byte("#cloud-config\nusers:\n- name: capi\n  ssh_authorized_keys:\n  - " +
			string(ssh.MarshalAuthorizedKey(key.PublicKey())) +
			"\n"), Image: guest.Image{Name: system, KubernetesVersion: "v1.36.3"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		g.Machine().
			UnitLog("kubelet"): "time=2026-01-02T11:00:00Z msg=old\ntime=2026-01-02T12:00:00Z msg=young\n",
		"/var/log/pods/kube-system_kube-proxy-abcde_uid/kube-proxy/0.log": "proxied with --token abc\n",
		"/etc/cni/net.d/10-calico.conflist":                               `{"plugins":[{"type":"calico"}]}`,
	} {
		write(t, g, name, text)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.ServeSSH(ctx, l, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	c, err := ssh.Dial("tcp", l.Addr().String(), &ssh.ClientConfig{
		User: "capi", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return g, c
}

// write appends to a file of the guest.
func write(t *testing.T, g *guest.Guest, name, text string) {
	t.Helper()
	host, err := g.Path(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(host), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(host, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func sources(t *testing.T, windows bool, names ...string) []logs.Source {
	t.Helper()
	s, err := logs.Choose(names, windows)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kubeletOf returns a client of an API server whose proxy leads to a kubelet; the kubelet serves the guest's /var/log
// with net/http's file server, as a real one does.
func kubeletOf(t *testing.T, g *guest.Guest) rest.Interface {
	t.Helper()
	dir, err := g.Path("/var/log")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/v1/nodes/n/proxy/logs/", http.StripPrefix("/api/v1/nodes/n/proxy/logs/", http.FileServer(http.Dir(dir))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	set, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return set.CoreV1().RESTClient()
}

func TestRead(t *testing.T) {
	for _, system := range []string{guest.Linux, guest.Windows} {
		windows := system == guest.Windows
		g, c := bootGuest(t, system)
		run := func(ctx context.Context, script string) (string, string, error) {
			var out, errOut bytes.Buffer
			g.Exec(ctx, script, nil, &out, &errOut)
			return out.String(), errOut.String(), nil
		}
		kubelet := logs.Kubelet{Client: kubeletOf(t, g), Node: "n", Windows: windows}
		if err := kubelet.Check(t.Context()); err != nil {
			t.Error(err)
		}
		boot, hns := "cloud-init starts", ""
		if windows {
			boot, hns = "Cloudbase-Init starts", "Name : Calico"
		}
		for _, r := range []struct {
			reader logs.Reader
			want   []string
			// notes are the sources that the reader cannot read.
			notes []string
		}{
			{logs.SSH{Client: c, Node: "n", Windows: windows},
				[]string{boot, "msg=old", "msg=young", "proxied with --token [redacted]", hns}, nil},
			{logs.Agent{Run: run, Node: "n", Windows: windows}, []string{"msg=old", "proxied with --token [redacted]", hns}, nil},
			{kubelet, []string{"proxied with --token [redacted]"}, []string{"n containerd: not among"}},
		} {
			t.Run(system+" by "+r.reader.Via(), func(t *testing.T) {
				var out, notes bytes.Buffer
				if err := logs.Read(t.Context(), r.reader, sources(t, windows), logs.Options{},
					&logs.Printer{Out: &out, Notes: &notes}); err != nil {
					t.Error(err)
				}
				for _, want := range r.want {
					if !strings.Contains(out.String(), want) {
						t.Errorf("there is no %q in\n%s", want, out.String())
					}
				}
				for _, want := range r.notes {
					if !strings.Contains(notes.String(), want) {
						t.Errorf("there is no note %q in\n%s", want, notes.String())
					}
				}
			})
		}
	}
}

func TestReadSome(t *testing.T) {
	for _, system := range []string{guest.Linux, guest.Windows} {
		_, c := bootGuest(t, system)
		windows := system == guest.Windows
		title := "==> n kubelet: journal of kubelet <==\n"
		if windows {
			title = "==> n kubelet: C:/var/log/kubelet/kubelet.log <==\n"
		}
		for _, o := range []struct {
			name string
			logs.Options
		}{
			{"tail", logs.Options{Tail: 1}},
			{"since", logs.Options{Since: mustWhen(t, "2026-01-02T11:30:00Z"), Now: mustWhen(t, "2026-01-02T12:30:00Z")}},
		} {
			t.Run(system+" "+o.name, func(t *testing.T) {
				var out, notes bytes.Buffer
				err := logs.Read(t.Context(), logs.SSH{Client: c, Node: "n", Windows: windows},
					sources(t, windows, "kubelet"), o.Options, &logs.Printer{Out: &out, Notes: &notes})
				if want := title + "time=2026-01-02T12:00:00Z msg=young\n"; err != nil || out.String() != want {
					t.Errorf("got %q, %v; want %q", out.String(), err, want)
				}
			})
		}
	}
}

// TestFollow prints lines that are written while it reads, and ends without an error.
func TestFollow(t *testing.T) {
	for _, system := range []string{guest.Linux, guest.Windows} {
		windows := system == guest.Windows
		g, c := bootGuest(t, system)
		for _, r := range []logs.Reader{logs.SSH{Client: c, Node: "n", Windows: windows},
			logs.Kubelet{Client: kubeletOf(t, g), Node: "n", Windows: windows}} {
			t.Run(system+" by "+r.Via(), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				out := newBuffer()
				ended := make(chan error, 1)
				go func() {
					ended <- logs.Read(ctx, r, sources(t, windows, "kube-proxy"), logs.Options{Follow: true},
						&logs.Printer{Out: out, Notes: out})
				}()
				out.await("proxied")
				write(t, g, "/var/log/pods/kube-system_kube-proxy-abcde_uid/kube-proxy/0.log", "later by "+r.Via()+"\n")
				out.await("later by " + r.Via())
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if n := strings.Count(out.String(), "proxied"); n != 1 {
					t.Errorf("what was there came %d times:\n%s", n, out)
				}
			})
		}
	}
}

func mustWhen(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
