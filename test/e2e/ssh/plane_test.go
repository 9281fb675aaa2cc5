package ssh

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "run the sessions against a local plane too, with the built binaries")

// TestPlane runs the sessions against the machines of a cluster on a local plane, with the keys
// that the bootstrap data installed, and casement's own commands.
func TestPlane(t *testing.T) {
	if !*full {
		t.Skip("only with -full: it takes a minute and the built binaries; make e2e-ssh has them")
	}
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1", "SSH_AUTH_SOCK=")
	p.Run(nil, "up")
	p.Create("demo", "windows")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	s := siteOf(t, p)
	s.sessions(t)
	t.Run("casement", func(t *testing.T) { own(t, p, s) })
}

// siteOf returns the addresses of the cluster's machines, which it reads from the management
// cluster.
func siteOf(t *testing.T, p *plane.Plane) *site {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(p.Home, "id_ed25519"))
	if err != nil {
		t.Fatal(err)
	}
	var cluster struct {
		Spec struct{ ControlPlaneEndpoint struct{ Host string } }
	}
	decode(t, p.Run(nil, "kubectl", "get", "cluster", "demo", "-o", "json"), &cluster)
	api := cluster.Spec.ControlPlaneEndpoint.Host
	var status struct {
		Listeners []struct{ Address, Instead string }
	}
	decode(t, p.Run(nil, "status", "-o", "json"), &status)
	port := "22"
	for _, l := range status.Listeners {
		if l.Instead == net.JoinHostPort(api, "22") {
			_, port, err = net.SplitHostPort(l.Address)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	s := newSite(t, api, port, key)
	var machines struct {
		Items []struct {
			Metadata struct{ Labels map[string]string }
			Status   struct {
				NodeRef   struct{ Name string }
				Addresses []struct{ Type, Address string }
			}
		}
	}
	decode(t, p.Run(nil, "kubectl", "get", "machines", "-o", "json"), &machines)
	for _, m := range machines.Items {
		node, ip := m.Status.NodeRef.Name, ""
		for _, a := range m.Status.Addresses {
			if a.Type == "InternalIP" {
				ip = a.Address
			}
		}
		_, control := m.Metadata.Labels["cluster.x-k8s.io/control-plane"]
		switch {
		case control:
			s.apiName = node
		case strings.HasPrefix(m.Metadata.Labels["cluster.x-k8s.io/deployment-name"], "demo-md-win"):
			s.windows, s.windowsName = ip, node
		default:
			s.linux, s.linuxName = ip, node
		}
	}
	if s.windows == "" || s.linux == "" || s.apiName == "" {
		t.Fatalf("a machine is missing: %+v", s)
	}
	return s
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// own runs casement's own commands against the same machines.
func own(t *testing.T, p *plane.Plane, s *site) {
	for _, machine := range []string{s.apiName, s.linuxName, s.windowsName} {
		if out := p.Run(nil, "ssh", machine, "--", "hostname"); strings.TrimSpace(out) != machine {
			t.Errorf("ssh %s answers %q", machine, out)
		}
	}
	if out, err := p.Try(nil, "ssh", s.windowsName, "--", "exit 5"); err == nil || !strings.Contains(err.Error(), "exit status 5") {
		t.Errorf("a command that ends with 5: %q, %v", out, err)
	}
	there, back := s.windowsName+":C:/k/own.txt", filepath.Join(t.TempDir(), "own.txt")
	s.write("own.txt", "hello", 0o600)
	p.Run(nil, "cp", filepath.Join(s.dir, "own.txt"), there)
	p.Run(nil, "cp", there, back)
	if data, err := os.ReadFile(back); err != nil || string(data) != "hello" {
		t.Errorf("the copy came back as %q, %v", data, err)
	}
	if _, err := p.Try(nil, "rdp", s.linuxName); err == nil || !strings.Contains(err.Error(), "has no Remote Desktop") {
		t.Errorf("rdp to Linux: %v", err)
	}
	desktopOf(t, p, s)
	logs(t, p, s)
}

// desktopOf resets the password and connects through casement's tunnel. The password is printed
// once and stored nowhere.
func desktopOf(t *testing.T, p *plane.Plane, s *site) {
	ctx, cancel := context.WithTimeout(t.Context(), sessionTimeout)
	defer cancel()
	file := filepath.Join(t.TempDir(), "node.rdp")
	c := exec.CommandContext(ctx, plane.Binary(t, "casement"), "rdp", s.windowsName, "--file", file, "--reset-password")
	c.Env = append(os.Environ(), "CASEMENT_HOME="+p.Home, "KUBECONFIG=", "SSH_AUTH_SOCK=")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line := func() string {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(text)
	}
	_, password, ok := strings.Cut(line(), "shown this once: ")
	if !ok || len(password) < 12 {
		t.Fatal("no password is shown")
	}
	address, _, _ := strings.Cut(line(), " ")
	s.freeRDP(t, address)
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), "full address:s:"+address) || strings.Contains(string(data), password) {
		t.Errorf("the Remote Desktop file: %q, %v", data, err)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("rdp ended with %v", err)
	}
	absent(t, p.Home, password)
	if hash, err := filepath.Glob(filepath.Join(p.Home, "vms", "*", s.windowsName, "accounts.json")); err != nil || len(hash) != 1 {
		t.Errorf("the guest keeps no account: %v, %v", hash, err)
	}
}

// absent checks that no file below dir contains a secret.
func absent(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // the file was deleted meanwhile
		}
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s holds a secret", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// logs reads logs in each way that casement has, and checks that the next way is used if one does
// not work.
func logs(t *testing.T, p *plane.Plane, s *site) {
	has := func(want string, args ...string) {
		t.Helper()
		out, err := p.Try(nil, append([]string{"logs"}, args...)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("logs %s: %v; no %q in\n%s", strings.Join(args, " "), err, want, out)
		}
	}
	const registered = "Successfully registered node"
	has("Cloudbase-Init starts", s.windowsName)
	has("Name : Calico", s.windowsName, "hns")
	has("cloud-init starts", s.linuxName, "boot")
	has("journal of kubelet", s.linuxName, "kubelet")
	for _, name := range []string{s.apiName, s.linuxName, s.windowsName} {
		has("==> "+name+" kubelet: ", "--all", "kubelet", "--tail", "1")
	}
	has("/var/log/kubelet/kubelet.log", s.windowsName, "kubelet", "--from", "kubelet")
	has(registered, s.windowsName, "kubelet", "--from", "agent")
	has(registered, s.linuxName, "--from", "console")
	p.Run(nil, "ssh", s.windowsName, "--", "Stop-Service sshd")
	has("kubelet: /var/log/kubelet/kubelet.log", s.windowsName, "kubelet")
	p.Run(nil, "ssh", s.linuxName, "--", "sudo systemctl stop kubelet; sudo systemctl stop ssh")
	has("by Run Command", s.linuxName, "kubelet")
}
