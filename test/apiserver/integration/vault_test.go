package integration

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// secretToken and secretKey are canary values in bootstrap data that no response of Azure may contain.
const (
	secretToken = "abcdef.0123456789abcdef"
	secretKey   = "-----BEGIN RSA PRIVATE KEY-----"
)

const secretBootstrapData = "## template: jinja\n#cloud-config\n\nwrite_files:\n" +
	"-   path: /run/kubeadm/kubeadm-join-config.yaml\n    content: |\n      token: " + secretToken +
	"\n      name: '{{ ds.meta_data[\"local_hostname\"] }}'\n-   path: /etc/kubernetes/pki/ca.key\n" +
	"    content: |\n" +
	"      " + secretKey + "\nruncmd:\n  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml\n"

// TestBootstrapSecrets checks that no response of Azure contains the bootstrap data of machines and
// pools, and that the secret is deleted when the node has joined.
func TestBootstrapSecrets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.azureC.Annotations = map[string]string{infrav1.BootstrapSecretsAnnotation: infrav1.BootstrapSecretsInKeyVault}
	mark := b.azure.mark()
	b.provision()
	if n := b.azure.writes(mark, b.name)["PUT vaults"]; n != 1 {
		t.Errorf("%d writes of the vault, want 1", n)
	}

	mark = b.azure.mark()
	machines := []*infrav1.AzureMachine{b.machine("cp-0", "Linux", true), b.machine("linux-0", "Linux", false),
		b.machine("windows-pool-abcde", "Windows", false)}
	for _, m := range machines {
		b.secret(m.Name, "value", secretBootstrapData)
		b.create(m)
	}
	for _, m := range machines {
		b.running(m)
	}
	want := map[string]int{"PUT inboundNatRules": 1, "PUT networkInterfaces": 3, "PUT roleAssignments": 3,
		"PUT userAssignedIdentities": 3, "PUT virtualMachines": 3}
	if diff := cmp.Diff(want, b.azure.writes(mark, b.name)); diff != "" {
		t.Errorf("writes to create the machines (-want +got):\n%s", diff)
	}
	pools := []*pool{
		b.pool("lin", "Linux", infrav1.UniformOrchestrationMode, 1),
		b.pool("win", "Windows", infrav1.UniformOrchestrationMode, 1),
		b.pool("flex", "Windows", infrav1.FlexibleOrchestrationMode, 1),
	}
	for _, p := range pools {
		b.secret(p.azure.Name, "value", secretBootstrapData)
		b.stored(p.azure)
		p.settled()
	}
	checkSecretless(t, b)
	if n := len(b.secrets()); n != len(machines)+len(pools) {
		t.Errorf("%d secrets in the vault, want %d: %v", n, len(machines)+len(pools), b.secrets())
	}

	for _, m := range machines {
		b.joined(m)
	}
	if left := b.secrets(); len(left) != len(pools) {
		t.Errorf("the machines have joined, and the vault has %v", left)
	}
	if rights := b.rights(); len(rights) != len(pools) {
		t.Errorf("the machines have joined, and the rights are %v", rights)
	}

	mark = b.azure.mark()
	for _, m := range machines {
		b.delete(m)
	}
	for _, m := range machines {
		b.gone(m)
	}
	wantGone := map[string]int{"DELETE inboundNatRules": 1, "DELETE userAssignedIdentities": 3, "DELETE virtualMachines": 3}
	if diff := cmp.Diff(wantGone, b.azure.writes(mark, b.name)); diff != "" {
		t.Errorf("writes to delete the machines (-want +got):\n%s", diff)
	}
	checkNeverJoined(t, b)
}

// checkNeverJoined deletes a machine whose node never joined, and checks that its secret is deleted
// too.
func checkNeverJoined(t *testing.T, b *bed) {
	t.Helper()
	before := b.secrets()
	m := b.machine("linux-1", "Linux", false)
	b.create(m)
	b.running(m)
	b.delete(m)
	b.gone(m)
	if after := b.secrets(); !slices.Equal(before, after) {
		t.Errorf("the vault had %v and has %v", before, after)
	}
	for _, id := range b.azure.left(b.name) {
		if strings.Contains(id, "linux-1") {
			t.Errorf("left in Azure: %s", id)
		}
	}
}

// TestBootstrapSecretsChoice chooses custom data for one machine of a cluster that has a vault, and
// a vault for a machine of a cluster that has no vault.
func TestBootstrapSecretsChoice(t *testing.T) {
	t.Run("custom data", func(t *testing.T) {
		b := newBed(t)
		b.azureC.Annotations = map[string]string{infrav1.BootstrapSecretsAnnotation: infrav1.BootstrapSecretsInKeyVault}
		b.provision()
		m := b.machine("linux-0", "Linux", false)
		m.Annotations[infrav1.BootstrapSecretsAnnotation] = infrav1.BootstrapSecretsInCustomData
		b.create(m)
		b.running(m)
		if secrets := b.secrets(); len(secrets) > 0 {
			t.Errorf("the vault has %v", secrets)
		}
	})
	for _, test := range []struct{ name, value, reason, message string }{
		{"no vault", infrav1.BootstrapSecretsInKeyVault, "WaitingForClusterInfrastructure", "has no key vault"},
		{"unknown", "Blob", "InvalidConfiguration", "set it to KeyVault or CustomData"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.provision()
			m := b.machine("linux-0", "Linux", false)
			m.Annotations[infrav1.BootstrapSecretsAnnotation] = test.value
			b.create(m)
			b.refused(m, infrav1.VMRunningCondition, test.reason, test.message)
		})
	}
}

// checkSecretless searches all responses of Azure and all data of guests for the canary values.
func checkSecretless(t *testing.T, b *bed) {
	t.Helper()
	seen := map[string]string{}
	for _, id := range b.azure.left(b.name) {
		if live, ok := b.azure.Get(id); ok {
			seen[id] = string(live)
		}
		if parts := strings.Split(id, "/"); parts[len(parts)-2] == "virtualMachines" {
			view, err := b.azure.client.Get(t.Context(), id+"/instanceView", "2024-07-01")
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
			seen[id+" instance view"] = string(view)
		}
	}
	machines := 0
	b.azure.started.Range(func(id, vm any) bool {
		if strings.Contains(strings.ToLower(id.(string)), "/resourcegroups/"+b.name+"/") {
			data, err := json.Marshal(vm)
			if err != nil {
				t.Fatal(err)
			}
			machines++
			seen[id.(string)+" from within"] = string(data)
		}
		return true
	})
	if machines < 6 { // a pool may have replaced an instance that was created with its earlier data
		t.Errorf("%d guests were started, want at least 6", machines)
	}
	for where, text := range seen {
		for depth := 0; depth < 3; depth++ {
			for _, mark := range []string{secretToken, secretKey, "kubeadm-join-config"} {
				if strings.Contains(text, mark) {
					t.Errorf("%s shows %q after %d decodings", where, mark, depth)
				}
			}
			text = decoded(text)
		}
	}
}

// decoded returns all base64 parts of a text, decoded.
func decoded(text string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !(r == '+' || r == '/' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	}) {
		if plain, err := base64.RawStdEncoding.DecodeString(word); err == nil && len(word) > 16 {
			out.Write(append(plain, '\n'))
		}
	}
	return out.String()
}

// stored waits until a pool's secret contains secretBootstrapData.
func (b *bed) stored(p *infrav1.AzureMachinePool) {
	b.t.Helper()
	b.eventually(p, func() string {
		if !conditions.IsTrue(p, infrav1.BootstrapSecretReadyCondition) {
			return "no bootstrap secret"
		}
		return ""
	})
}

// joined sets the fields that Cluster API sets when the node of a machine has registered.
func (b *bed) joined(m *infrav1.AzureMachine) {
	b.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: b.meta(m.Name)}
	b.get(machine)
	machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: m.Name}
	if err := b.client.Status().Update(b.t.Context(), machine); err != nil {
		b.t.Fatal(err)
	}
	b.eventually(m, func() string {
		if c := conditions.Get(m, infrav1.BootstrapSecretReadyCondition); c == nil || c.Reason != "Removed" {
			return "the secret is not removed"
		}
		return ""
	})
}

func (b *bed) secrets() []string { return b.named("/vaults/", "/secrets/") }

func (b *bed) rights() []string { return b.named("/secrets/", "/roleAssignments/") }

// named returns the resources of the group whose IDs contain both texts.
func (b *bed) named(one, other string) []string {
	var out []string
	for _, id := range b.azure.left(b.name) {
		if strings.Contains(id, one) && strings.Contains(id, other) &&
			(other == "/roleAssignments/" || !strings.Contains(id, "/roleAssignments/")) {
			out = append(out, id)
		}
	}
	return out
}
