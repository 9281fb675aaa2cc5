package machine

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/redact"
)

func open(t *testing.T, dir, osType string, hook func(string, Action)) *Machine {
	t.Helper()
	m, err := New(Spec{ID: "vm", Dir: dir, OS: osType, ComputerName: "node-1"}, nil, clock.RealClock{}, hook)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSpecIsChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"no OS", Spec{Dir: t.TempDir(), ComputerName: "a"}},
		{"no directory", Spec{OS: Linux, ComputerName: "a"}},
		{"no name", Spec{OS: Linux, Dir: t.TempDir()}},
		{"16 characters on Windows", Spec{OS: Windows, Dir: t.TempDir(), ComputerName: "abcdefghijklmnop"}},
	} {
		if m, err := New(c.spec, nil, clock.RealClock{}, nil); err == nil {
			m.Close()
			t.Errorf("%s: accepted", c.name)
		}
	}
}

func TestWindowsPaths(t *testing.T) {
	m := open(t, t.TempDir(), Windows, nil)
	defer m.Close()
	for _, c := range []struct {
		name, cwd, path, want string
	}{
		{"no drive", `C:\Windows`, "/run/x", `C:\run\x`},
		{"relative", `C:\k`, `a\..\b`, `C:\k\b`},
		{"other drive", `C:\k`, "d:x", `D:\x`},
		{"root", `C:\k`, `\`, `C:\`},
	} {
		if got := m.Root.Abs(c.cwd, c.path); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if err := m.Root.WriteFile(`C:\k\Mixed.TXT`, []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.Root.AppendFile(`c:/K/mixed.txt`, []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := m.Root.ReadFile(`/k/MIXED.txt`); err != nil || string(data) != "ab" {
		t.Errorf("got %q, %v", data, err)
	}
	if err := m.Root.WriteFile(`D:\x`, nil, 0o644); err != nil {
		t.Errorf("the temporary disk: %v", err)
	}
	if err := m.Root.WriteFile(`E:\x`, nil, 0o644); !errors.Is(err, guestfs.ErrDrive) {
		t.Errorf("drive E: %v", err)
	}
	if err := m.Root.RemoveAll(`C:\`); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("removing the drive: %v", err)
	}
}

func TestServicesAreKept(t *testing.T) {
	dir := t.TempDir()
	var heard []string
	m := open(t, dir, Windows, func(name string, a Action) { heard = append(heard, name+" "+string(a)) })
	for _, err := range []error{
		m.Services.Start("KUBELET"), m.Services.Start("kubelet"), m.Services.Restart("kubelet"),
		m.Services.Edit("kubelet", func(s *Service) { s.Start = Disabled }), m.Services.Create(Service{Name: "flanneld", Start: Manual}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(heard, ", "); got != "kubelet start, kubelet stop, kubelet start" {
		t.Errorf("the hook heard: %s", got)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, Windows, nil)
	defer again.Close()
	if row, _ := again.Services.Get("kubelet"); row.Start != Disabled || row.Running {
		t.Errorf("kubelet is %+v", row)
	}
	if err := again.Services.Start("kubelet"); !errors.Is(err, ErrServiceDisabled) {
		t.Errorf("starting a disabled service: %v", err)
	}
	if err := again.Services.Start("nope"); !errors.Is(err, ErrNoService) {
		t.Errorf("starting none: %v", err)
	}
	if _, ok := again.Services.Get("flanneld"); !ok {
		t.Error("the new service is gone")
	}
}

func TestConsoleKeepsSecrets(t *testing.T) {
	for _, c := range []struct{ name, in, secret string }{
		{"token", "token abcdef.0123456789abcdef x", "0123456789abcdef"},
		{"flag", "kubeadm join --certificate-key 00ff11 x", "00ff11"},
		{"json", `"aadClientSecret": "hunter2"`, "hunter2"},
		{"assignment", "set PASSWORD=hunter2", "hunter2"},
		{"powershell", "ConvertTo-SecureString -AsPlainText hunter2", "hunter2"},
		{"bearer", "Authorization: Bearer abcdefghijkl", "abcdefghijkl"},
	} {
		var out bytes.Buffer
		con := NewConsole(&out)
		for _, half := range []string{c.in[:len(c.in)/2], c.in[len(c.in)/2:] + "\r\n"} {
			if _, err := con.Write([]byte(half)); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(out.String(), c.secret) || strings.Contains(strings.Join(con.Last(), ""), c.secret) ||
			!strings.Contains(out.String(), redact.Mark) {
			t.Errorf("%s: %s", c.name, out.String())
		}
	}
}

// TestServicesOfContainers checks that, on plain Windows, services that containers trigger run as soon as the machine
// has a container runtime.
func TestServicesOfContainers(t *testing.T) {
	spec := Spec{ID: "vm", Dir: t.TempDir(), OS: Windows, ComputerName: "node-1", Image: Image{Plain: true}}
	m, err := New(spec, nil, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Services.StartAutomatic()
	if row, ok := m.Services.Get("hns"); !ok || row.Running {
		t.Errorf("before: %+v", row)
	}
	if err := errors.Join(m.Services.Create(Service{Name: "containerd", Start: Automatic}), m.Services.Start("containerd")); err != nil {
		t.Fatal(err)
	}
	if row, _ := m.Services.Get("hns"); !row.Running {
		t.Errorf("with containerd: %+v", row)
	}
}

// TestServicesOfABoot checks that a boot starts automatic services and services that containers trigger, but no other
// manual services.
func TestServicesOfABoot(t *testing.T) {
	m := open(t, t.TempDir(), Windows, nil)
	if err := m.Services.Create(Service{Name: "flanneld", Start: Manual}); err != nil {
		t.Fatal(err)
	}
	m.Services.StartAutomatic()
	for name, want := range map[string]bool{"hns": true, "vmcompute": true, "containerd": true, "flanneld": false} {
		if row, ok := m.Services.Get(name); !ok || row.Running != want {
			t.Errorf("%s: running %v, want %v", name, row.Running, want)
		}
	}
}
