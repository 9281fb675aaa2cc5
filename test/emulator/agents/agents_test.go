package agents

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/ignition"

	"casement.dev/casement/internal/controller/console"
	"casement.dev/casement/internal/sim/guest"
)

// agent is a boot agent: the image that contains it, and the documents that Cluster API renders for
// it.
type agent struct {
	name   string
	os     string
	image  guest.Image
	render func(t *testing.T, pre string) []byte
}

func node(pre string) *cloudinit.NodeInput {
	in := &cloudinit.NodeInput{JoinConfiguration: "kind: JoinConfiguration\nnodeRegistration:\n  name: node\n"}
	if pre != "" {
		in.PreKubeadmCommands = []string{pre}
	}
	return in
}

func cloudConfig(t *testing.T, pre string) []byte {
	t.Helper()
	data, err := cloudinit.NewNode(node(pre))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func ignitionConfig(t *testing.T, pre string) []byte {
	t.Helper()
	data, _, err := ignition.NewNode(&ignition.NodeInput{NodeInput: node(pre), Ignition: &bootstrapv1.IgnitionSpec{}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func agents() []agent {
	return []agent{
		{"cloud-init", guest.Linux, guest.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0-1030-azure",
			KubernetesVersion: "v1.36.3"}, cloudConfig},
		{"cloudbase-init", guest.Windows, guest.Image{Name: "Windows Server 2022 Datacenter", Release: "2022",
			Build: "10.0.20348.2700", KubernetesVersion: "v1.36.3"}, cloudConfig},
		{"ignition", guest.Linux, guest.Image{Name: "Flatcar Container Linux by Kinvolk 4230.2.1", Release: "4230.2.1",
			Build: "6.6.95-flatcar", KubernetesVersion: "v1.36.3", Ignition: true}, ignitionConfig},
	}
}

// TestContract boots each agent to each possible result.
func TestContract(t *testing.T) {
	const decisive = "[ERROR Port-10250]: Port 10250 is in use"
	kubeadm := func(code int) guest.Command {
		return func(_ context.Context, p *guest.Process) int {
			if code != 0 {
				return p.Fail(code, "error execution phase preflight: [preflight] Some fatal errors occurred:\n\t%s", decisive)
			}
			return 0
		}
	}
	for _, a := range agents() {
		for _, c := range []struct {
			name    string
			data    []byte
			kubeadm guest.Command
			// says is a text that the failure's message must contain; "" means that no failure is
			// expected.
			says string
		}{
			{name: "success", data: a.render(t, ""), kubeadm: kubeadm(0)},
			{name: "a failing command before kubeadm", data: a.render(t, "netcfg --apply"), kubeadm: kubeadm(0), says: "netcfg"},
			{name: "a failing kubeadm", data: a.render(t, ""), kubeadm: kubeadm(1), says: decisive},
			{name: "a kubeadm that waits in vain", data: a.render(t, ""), says: "cluster-info", kubeadm: func(_ context.Context,
				p *guest.Process) int {
				return p.Fail(1, "couldn't validate the identity of the API Server: failed to request the cluster-info ConfigMap: "+
					"Get \"https://10.1.0.100:6443/api\": context deadline exceeded")
			}},
			{name: "a killed kubeadm", data: a.render(t, ""), says: "137", kubeadm: func(_ context.Context, p *guest.Process) int {
				return 137
			}},
			{name: "no kubeadm", data: a.render(t, ""), says: "kubeadm"},
			{name: "no data", says: "data"},
			{name: "wrong data", data: []byte("\x00\x01 neither of them"), says: "data"},
		} {
			t.Run(a.name+"/"+c.name, func(t *testing.T) {
				text := boot(t, a, c.data, c.kubeadm)
				reason, message, failed := console.Failure(text, "m")
				if _, ended := console.Notes(text); !ended && len(c.data) > 0 && c.name != "wrong data" {
					t.Errorf("the agent's end is not seen:\n%s", text)
				}
				if failed != (c.says != "") || !strings.Contains(message, c.says) {
					t.Errorf("reason %q, message %q, want one with %q:\n%s", reason, message, c.says, text)
				}
			})
		}
	}
}

// boot runs a guest and returns its console.
func boot(t *testing.T, a agent, data []byte, kubeadm guest.Command) string {
	t.Helper()
	var log bytes.Buffer
	config := guest.Config{Log: &log, Machine: guest.Machine{ID: "/vm/m", InstanceID: "i", Dir: t.TempDir(), OS: a.os, ComputerName: "m",
		AdminUsername: "capi", CustomData: data, Image: a.image, SSHPublicKeys: []string{"ssh-ed25519 AAAA admin"},
		IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")}}}
	if kubeadm != nil {
		config.Commands = map[string]guest.Command{"kubeadm": kubeadm}
	}
	g, err := guest.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	return log.String()
}
