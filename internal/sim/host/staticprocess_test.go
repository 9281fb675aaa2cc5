package host

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/kubelet"
)

// testNode returns a node whose static pods are processes of the test binary.
func testNode(t *testing.T) *node {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CASEMENT_KUBE", self)
	home := filepath.Join(t.TempDir(), "vms", "g", "vm")
	ip := netip.MustParseAddr("10.0.0.4")
	body, err := guest.New(guest.Config{Log: io.Discard,
		Machine: guest.Machine{ID: "vm", Dir: home, OS: guest.Linux, ComputerName: "cp-0", IPs: []netip.Addr{ip}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { body.Close() })
	n := &node{body: body, home: home, loopback: netip.MustParseAddr("127.0.0.4"), origin: fabric.Origin{IP: ip}, console: io.Discard,
		runtime: kubelet.NewRuntime(), ctx: t.Context(), processes: map[processKey]*staticProcess{}, web: &http.Transport{}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		n.close(ctx, func() {})
	})
	return n
}

func processSpec(t *testing.T, n *node, pod, command string) kubelet.ProcessSpec {
	t.Helper()
	output, err := n.body.Machine().Root.Appender("/tmp/"+pod+".log", 0o600)()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { output.Close() })
	return kubelet.ProcessSpec{ID: "kube-system/" + pod + "/c", Hash: pod, Pod: &corev1.Pod{}, LastLine: func() string { return "" },
		Output:    output,
		Container: corev1.Container{Name: "c", Command: strings.Fields(command)}}
}

// TestStaticPodRunsNoProgram writes static pods as an attacker would: they name a program of this
// computer directly and in a kubeconfig, and files beside the guest's.
func TestStaticPodRunsNoProgram(t *testing.T) {
	n := testNode(t)
	files := n.body.Machine().Root
	proof := filepath.Join(t.TempDir(), "proof")
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n" +
		"users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, " +
		"command: /bin/sh, args: ['-c', 'touch " + proof + "'], interactiveMode: Never}}}]"
	if err := files.MkdirAll("/etc/kubernetes/deep"); err != nil {
		t.Fatal(err)
	}
	if err := files.WriteFile("/etc/kubernetes/x.conf", []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := n.body.Exec(t.Context(),
		"ln -s ../../../.. /etc/kubernetes/deep/out && ln -s ../../.. /etc/kubernetes/out", nil, io.Discard,
		io.Discard); code != 0 {
		t.Fatalf("ln ends with %d", code)
	}
	for name, c := range map[string]struct{ command, refused string }{
		"kubectl":          {"kubectl --kubeconfig=/etc/kubernetes/x.conf get pods", `command "kubectl"`},
		"boot":             {"boot init --root=/ --config=/x", `command "boot"`},
		"scheduler":        {"kube-scheduler --kubeconfig=/etc/kubernetes/x.conf", "user.exec is refused"},
		"relative":         {"etcd --data-dir=pub/relative", ""},
		"climbing":         {"etcd --data-dir=../../climbing", ""},
		"over a link":      {"etcd --data-dir=/etc/kubernetes/out/linked", ""},
		"over a deep link": {"etcd --data-dir=/etc/kubernetes/deep/out/linked-deep", ""},
		"by its name":      {"etcd --name=../../../named", "--name of etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := n.StartProcess(t.Context(), processSpec(t, n, strings.ReplaceAll(name, " ", "-"), c.command))
			switch {
			case c.refused == "" && err != nil:
				t.Fatal(err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Fatalf("error %v, want one that names %q", err, c.refused)
			case err != nil:
				return
			}
			eventually(t, "the process says that it is up", func() bool {
				log, err := os.ReadFile(filepath.Join(n.home, "rootfs", "tmp", strings.ReplaceAll(name, " ", "-")+".log"))
				return err == nil && strings.Contains(string(log), "up\n")
			})
			p.(*staticProcess).Kill()
		})
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("a program of the real machine ran")
	}
	// The folders beside the guest contain nothing but the plane's own record of the guest.
	for _, dir := range []string{filepath.Dir(n.home), filepath.Join(n.home, "..", "..")} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%s holds %v (%v)", dir, entries, err)
		}
	}
	entries, err := os.ReadDir(n.home)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "rootfs" && e.Name() != "static" {
			t.Errorf("%s is beside the guest's root", e.Name())
		}
	}
}

// TestCloseEndsAllProcesses: no static pod outlives its machine, whatever its name is.
func TestCloseEndsAllProcesses(t *testing.T) {
	n := testNode(t)
	var pids []int
	for name, command := range map[string]string{"etcd": "etcd", "api": "kube-apiserver",
		"another": "etcd --data-dir=/other", "third": "kube-scheduler", "manager": "kube-controller-manager"} {
		p, err := n.StartProcess(t.Context(), processSpec(t, n, name, command))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, p.(*staticProcess).State().PID)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	n.close(ctx, func() {})
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d outlives its machine", pid)
		}
	}
	if _, err := n.StartProcess(t.Context(), processSpec(t, n, "late", "etcd")); err == nil {
		t.Error("a process starts on a machine that is stopped")
	}
}

// eventually waits for an effect of another process.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
