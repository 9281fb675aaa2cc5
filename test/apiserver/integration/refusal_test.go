package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestClusterRefusals creates clusters with errors. Each gets a condition that names the cause, and
// continues without further action when the error is corrected.
func TestClusterRefusals(t *testing.T) {
	for _, test := range []struct {
		name, reason, message string
		corrupt, repair       func(*bed)
	}{
		{"no identity", "IdentityNotFound", "AzureClusterIdentity",
			func(b *bed) { b.azureC.Spec.IdentityRef.Name = "other" },
			func(b *bed) {
				identity := &infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity")}
				b.get(identity)
				b.create(&infrav1.AzureClusterIdentity{ObjectMeta: b.meta("other"), Spec: identity.Spec})
			}},
		{"no secret", "IdentitySecretNotFound", "spec.clientSecret",
			func(b *bed) {
				if err := b.client.Delete(b.t.Context(), &corev1.Secret{ObjectMeta: b.meta("sp")}); err != nil {
					b.t.Fatal(err)
				}
			},
			func(b *bed) {
				b.create(&corev1.Secret{ObjectMeta: b.meta("sp"), Data: map[string][]byte{"clientSecret": []byte("good")}})
			}},
		{"namespace not allowed", "NamespaceNotAllowedByIdentity", "spec.allowedNamespaces",
			func(b *bed) { b.allow(&infrav1.AllowedNamespaces{NamespaceList: []string{"elsewhere"}}) },
			func(b *bed) { b.allow(&infrav1.AllowedNamespaces{NamespaceList: []string{b.namespace}}) }},
		{"secret without the key", "IdentityInvalid", "the key clientSecret has no value",
			func(b *bed) { b.secret("sp", "password", "good") },
			func(b *bed) { b.secret("sp", "clientSecret", "good") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			test.corrupt(b)
			b.create(b.azureC)
			b.refused(b.azureC, infrav1.NetworkInfrastructureReadyCondition, test.reason, test.message)
			test.repair(b)
			b.eventually(b.azureC, func() string {
				if !b.azureC.Status.Ready {
					return "does not recover"
				}
				return ""
			})
		})
	}
}

// TestMachineRefusals creates machines with errors. Each gets a condition that names the cause, and
// continues when the error is corrected.
func TestMachineRefusals(t *testing.T) {
	for _, test := range []struct {
		name, os, reason, message string
		corrupt, repair           func(*bed, *infrav1.AzureMachine)
	}{
		{"unknown size", "Linux", "InvalidConfiguration", "spec.vmSize",
			func(_ *bed, m *infrav1.AzureMachine) { m.Spec.VMSize = "Standard_Nonsense" },
			func(b *bed, m *infrav1.AzureMachine) { b.change(m, func() { m.Spec.VMSize = vmSize }) }},
		{"zone without the size", "Linux", "InvalidConfiguration", "spec.failureDomain",
			func(_ *bed, m *infrav1.AzureMachine) { m.Spec.FailureDomain = new("9") },
			func(b *bed, m *infrav1.AzureMachine) { b.change(m, func() { m.Spec.FailureDomain = new("1") }) }},
		{"no such image", "Windows", "ImageNotFound", "9.9.9",
			func(b *bed, m *infrav1.AzureMachine) { b.version(m, "v9.9.9") },
			func(b *bed, m *infrav1.AzureMachine) { b.version(m, version) }},
		{"empty bootstrap data", "Linux", "InvalidBootstrapData", "empty",
			func(b *bed, m *infrav1.AzureMachine) { b.secret(m.Name, "value", "\n") },
			func(b *bed, m *infrav1.AzureMachine) { b.secret(m.Name, "value", goodBootstrapData) }},
		{"socket of Linux on Windows", "Windows", "InvalidBootstrapData", "criSocket",
			func(b *bed, m *infrav1.AzureMachine) {
				b.secret(m.Name, "value", joinData("unix:///run/containerd/containerd.sock"))
			},
			func(b *bed, m *infrav1.AzureMachine) {
				b.secret(m.Name, "value", joinData("npipe:////./pipe/containerd-containerd"))
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.provision()
			m := b.machine("machine-0", test.os, false)
			test.corrupt(b, m)
			b.create(m)
			b.refused(m, infrav1.VMRunningCondition, test.reason, test.message)
			if m.Status.FailureReason != nil {
				t.Errorf("given up: %s", *m.Status.FailureReason)
			}
			test.repair(b, m)
			b.running(m)
		})
	}
}

// TestWindowsControlPlane checks that a Windows control plane machine fails terminally, because the
// operating system of a disk cannot change.
func TestWindowsControlPlane(t *testing.T) {
	b := newBed(t)
	b.provision()
	mark := b.azure.mark()
	m := b.machine("cp-0", "Windows", true)
	b.create(m)
	b.refused(m, infrav1.VMRunningCondition, "InvalidConfiguration", "spec.osDisk.osType")
	b.givenUp(m, "InvalidConfiguration")
	if writes := b.azure.writes(mark, b.name); len(writes) > 0 {
		t.Errorf("writes %v", writes)
	}
}

// refused waits for a condition that names the cause, and checks that the Ready condition names it too.
func (b *bed) refused(o conditionsObject, conditionType, reason, message string) {
	b.t.Helper()
	b.eventually(o, func() string {
		c := conditions.Get(o, conditionType)
		if c == nil || c.Reason != reason || !strings.Contains(c.Message, message) {
			return "no condition " + reason + " about " + message
		}
		return ""
	})
	if got := conditions.GetReason(o, clusterv1.ReadyCondition); got != reason {
		b.t.Errorf("Ready says %s, not %s", got, reason)
	}
}

func (b *bed) allow(allowed *infrav1.AllowedNamespaces) {
	b.t.Helper()
	identity := &infrav1.AzureClusterIdentity{ObjectMeta: b.meta("identity")}
	b.change(identity, func() { identity.Spec.AllowedNamespaces = allowed })
}

func (b *bed) secret(name, key, value string) {
	b.t.Helper()
	secret := &corev1.Secret{ObjectMeta: b.meta(name)}
	b.change(secret, func() { secret.Data = map[string][]byte{key: []byte(value)} })
}

func (b *bed) version(m *infrav1.AzureMachine, to string) {
	b.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: b.meta(m.Name)}
	b.change(machine, func() { machine.Spec.Version = to })
}

func joinData(socket string) string {
	return `## template: jinja
#cloud-config

write_files:
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
      ---
      apiVersion: kubeadm.k8s.io/v1beta4
      kind: JoinConfiguration
      discovery:
        bootstrapToken:
          apiServerEndpoint: 10.0.0.100:6443
          token: abcdef.0123456789abcdef
          unsafeSkipCAVerification: true
      nodeRegistration:
        criSocket: ` + socket + `
        name: '{{ ds.meta_data["local_hostname"] }}'
runcmd:
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml
`
}

// TestOverlappingSubnets checks that overlapping subnets are refused at admission with an error
// that names the field, and that the same object is accepted when they are corrected.
func TestOverlappingSubnets(t *testing.T) {
	b := newBed(t)
	subnets := func(node string) {
		b.azureC.Spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{
			{SubnetClassSpec: infrav1.SubnetClassSpec{
				Name: "control-plane", Role: infrav1.SubnetControlPlane, CIDRBlocks: []string{"10.0.0.0/16"},
			}},
			{SubnetClassSpec: infrav1.SubnetClassSpec{Name: "node", Role: infrav1.SubnetNode, CIDRBlocks: []string{node}}},
		}
	}
	subnets("10.0.128.0/17")
	err := b.client.Create(t.Context(), b.azureC.DeepCopy())
	for _, want := range []string{"spec.networkSpec.subnets[1].cidrBlocks[0]", "10.0.128.0/17", "control-plane"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the refusal %v does not name %q", err, want)
		}
	}
	subnets("10.1.0.0/16")
	b.provision()
}

// TestUnknownSubnet checks that admission refuses a machine with an unknown subnet if it knows the
// cluster. Otherwise a condition names the reason, and the machine and its cluster can be deleted.
func TestUnknownSubnet(t *testing.T) {
	admitting(t, func(t *testing.T, labels map[string]string) {
		b := newBedIn(t, labels)
		b.sane(labels)
		b.provision()
		m := b.machine("machine-0", "Linux", false)
		b.saneMachine(labels, &m.Spec)
		m.Spec.NetworkInterfaces = []infrav1.NetworkInterface{{SubnetName: "nowhere", PrivateIPConfigs: 1}}
		err := b.client.Create(t.Context(), m)
		if labels == nil {
			for _, want := range []string{"spec.networkInterfaces[0].subnetName", "nowhere", b.azureC.Spec.NetworkSpec.Subnets[0].Name} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the refusal %v does not name %q", err, want)
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		b.refused(m, infrav1.VMRunningCondition, "InvalidConfiguration", "spec.networkInterfaces[0].subnetName")
		b.delete(m)
		b.gone(m)
		b.delete(b.azureC)
		b.gone(b.azureC)
		b.nothingLeft()
	})
}
