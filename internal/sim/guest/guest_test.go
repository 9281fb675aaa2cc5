package guest_test

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/testing/golden"
)

func linux(t testing.TB, data []byte) guest.Config {
	return config(t, guest.Machine{OS: guest.Linux, ComputerName: "c1-md-0-abcde", CustomData: data,
		SSHPublicKeys: []string{"ssh-ed25519 AAAA admin"}, Image: guest.Image{
			Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0-1030-azure", KubernetesVersion: "v1.36.3",
		}})
}

func windows(t testing.TB, data []byte) guest.Config {
	return config(t, guest.Machine{OS: guest.Windows, ComputerName: "c1-md-wi-abcde", CustomData: data,
		SSHPublicKeys: []string{"ssh-ed25519 AAAA admin"}, Image: guest.Image{Name: "Windows Server 2022 Datacenter",
			Release: "2022", Build: "10.0.20348.2700", KubernetesVersion: "v1.36.3"}})
}

func config(t testing.TB, m guest.Machine) guest.Config {
	m.ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/" + m.ComputerName
	m.InstanceID, m.AdminUsername, m.Dir = "i-1", "capi", t.TempDir()
	m.IPs = []netip.Addr{netip.MustParseAddr("10.1.0.4")}
	return guest.Config{Machine: m, Clock: testclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		Commands: map[string]guest.Command{"kubeadm": kubeadm(0)}}
}

// kubeadm returns a kubeadm that checks the path of its configuration, starts the kubelet and returns code.
func kubeadm(code int) guest.Command {
	return func(_ context.Context, p *guest.Process) int {
		for i, a := range p.Args {
			if a != "--config" {
				continue
			}
			host, err := p.Guest.Path(p.Args[i+1])
			if err != nil {
				return p.Fail(1, "%v", err)
			}
			data, err := os.ReadFile(host)
			if err != nil {
				return p.Fail(1, "%v", err)
			}
			p.Printf("kubeadm %s read %d bytes\n", p.Args[1], len(data))
			if strings.Contains(string(data), "CI_MISSING_JINJA_VAR") {
				return p.Fail(1, "nodeRegistration.name: Invalid value")
			}
		}
		if code == 0 {
			if err := p.Guest.Services.Restart("kubelet"); err != nil {
				return p.Fail(1, "%v", err)
			}
		}
		return code
	}
}

// boot runs a guest once and returns it with its console output.
func boot(t testing.TB, c guest.Config) (*guest.Guest, string) {
	t.Helper()
	var console bytes.Buffer
	c.Log = &console
	g, err := guest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g, console.String()
}

func read(t testing.TB, g *guest.Guest, name string) string {
	t.Helper()
	host, err := g.Path(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(host)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func document(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBootRealDocuments(t *testing.T) {
	for _, c := range []struct {
		name   string
		config guest.Config
		join   string
	}{
		{"linux-join", linux(t, document(t, "linux-join.cloudcfg")), "/run/kubeadm/kubeadm-join-config.yaml"},
		{"windows-join", windows(t, document(t, "windows-join.cloudcfg")), `C:\run\kubeadm\kubeadm-join-config.yaml`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var heard []string
			c.config.OnService = func(name string, action guest.Action) {
				if name == "kubelet" {
					heard = append(heard, string(action))
				}
			}
			g, console := boot(t, c.config)
			s := g.Status()
			if s.Phase != guest.PhaseRunning || s.Provisioned != guest.ProvisionedReady || !s.Sentinel || s.ExitCode != 0 {
				t.Errorf("status is %+v", s)
			}
			if got := read(t, g, c.join); !strings.Contains(got, "name: '"+c.config.Machine.ComputerName+"'") {
				t.Errorf("the join configuration names no node:\n%s", got)
			}
			if strings.Contains(console, "73ovd0339vhvanot") || strings.Contains(console, "1iucnu052xeltftt") {
				t.Error("the console holds the bootstrap token")
			}
			if got := strings.Join(heard, " "); got != "start stop start" {
				t.Errorf("the host heard of kubelet: %s", got)
			}
			golden.Compare(t, filepath.Join("testdata", "golden", c.name+".log"), []byte(console))
		})
	}
}
