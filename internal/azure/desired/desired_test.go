package desired

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/testing/golden"
)

// machineFile is the input for a machine in the form of the files in testdata.
type machineFile struct {
	Cluster               string
	Machine               infrav1.AzureMachine
	VMName                string
	ControlPlane          bool
	Zone                  string
	Image                 infrav1.Image
	BootstrapData         string
	AdminPassword         string
	AcceleratedNetworking bool
	ARM64                 bool
	AvailabilitySet       *AvailabilitySet
	SSHPort               int32
	PrincipalID           string
}

func TestClusterGolden(t *testing.T) {
	for _, test := range []struct {
		name, file string
		change     func(*ClusterInput)
	}{
		{"seed-windows", "cluster-seed-windows.yaml", func(in *ClusterInput) { in.Zones = []string{"3", "1", "2"} }},
		{"seed-windows-foreign-vnet", "cluster-seed-windows.yaml", func(in *ClusterInput) { in.ForeignVNet = true }},
		{"private", "cluster-private.yaml", func(in *ClusterInput) { in.APIServerPort = 8443 }},
		{"external-control-plane", "cluster-seed-windows.yaml", func(in *ClusterInput) { in.Cluster.Spec.ControlPlaneEnabled = false }},
		{"internal-beside-public", "cluster-seed-windows.yaml", func(in *ClusterInput) {
			lb := in.Cluster.Spec.NetworkSpec.APIServerLB
			private := infrav1.FrontendIP{Name: "win-public-lb-frontEnd-internal-ip"}
			private.PrivateIPAddress = "10.0.0.100"
			lb.FrontendIPs = append(lb.FrontendIPs, private)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := clusterInput(t, test.file)
			test.change(&in)
			resources, err := Cluster(in)
			if err != nil {
				t.Fatal(err)
			}
			checkOrder(t, resources)
			compare(t, "cluster-"+test.name, resources)
		})
	}
}

func TestMachineGolden(t *testing.T) {
	for _, name := range []string{"machine-linux-control-plane", "machine-windows-worker", "machine-everything"} {
		t.Run(name, func(t *testing.T) {
			in := machineInput(t, name+".yaml")
			resources, err := Machine(in)
			if err != nil {
				t.Fatal(err)
			}
			checkOrder(t, resources)
			compare(t, name, resources)
		})
	}
}

// TestExistingMachineHasNoSecrets checks that only names and tags are sent for a VM that
// exists.
func TestExistingMachineHasNoSecrets(t *testing.T) {
	in := machineInput(t, "machine-windows-worker.yaml")
	in.Exists, in.Image = true, infrav1.Image{}
	resources, err := Machine(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(resources)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"customData", "adminPassword", in.AdminPassword} {
		if strings.Contains(string(data), secret) {
			t.Errorf("an existing machine's resources hold %s", secret)
		}
	}
}

func TestMachineRefusals(t *testing.T) {
	for _, test := range []struct {
		name, field string
		change      func(*MachineInput)
	}{
		{"unknown subnet", "spec.networkInterfaces[0].subnetName",
			func(in *MachineInput) { in.Machine.Spec.NetworkInterfaces[0].SubnetName = "nowhere" }},
		{"no subnet of the role", "spec.networkInterfaces[0].subnetName",
			func(in *MachineInput) { in.Cluster.Spec.NetworkSpec.Subnets = nil }},
		{"several subnets of the role", "spec.networkInterfaces[0].subnetName", func(in *MachineInput) {
			subnets := &in.Cluster.Spec.NetworkSpec.Subnets
			*subnets = append(*subnets, (*subnets)[0])
		}},
		{"no image", "spec.image", func(in *MachineInput) { in.Image = infrav1.Image{} }},
		{"key is not base64", "spec.sshPublicKey", func(in *MachineInput) { in.Machine.Spec.SSHPublicKey = "ssh-rsa AAAA" }},
		{"user assigned without identities", "spec.userAssignedIdentities",
			func(in *MachineInput) { in.Machine.Spec.Identity = infrav1.VMIdentityUserAssigned }},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := machineInput(t, "machine-linux-control-plane.yaml")
			test.change(&in)
			_, err := Machine(in)
			invalid, ok := errors.AsType[*InvalidError](err)
			if !ok || invalid.Field != test.field {
				t.Errorf("error %v, want one about %s", err, test.field)
			}
		})
	}
}

func TestAPIServerDNSLabel(t *testing.T) {
	c := &infrav1.AzureCluster{}
	c.Spec.SubscriptionID = "00000000-0000-0000-0000-000000000001"
	c.Spec.ResourceGroup = "my-cluster"
	if got, want := apiServerDNSLabel(c, "my-cluster", "pip-my-cluster-apiserver"), "my-cluster-1f7e7d94"; got != want {
		t.Errorf("label %q, want %q", got, want)
	}
}

func TestFreeSSHPort(t *testing.T) {
	taken := map[int32]bool{}
	var got []int32
	for port := FreeSSHPort(taken); port != 0; port = FreeSSHPort(taken) {
		taken[port] = true
		got = append(got, port)
	}
	if len(got) != 20 || got[0] != 22 || got[1] != 2201 || got[19] != 2219 {
		t.Errorf("ports %v, want 22 and 2201 to 2219", got)
	}
}

func TestProviderID(t *testing.T) {
	got := ProviderID("/subscriptions/S/resourceGroups/My-RG/providers/Microsoft.Compute/virtualMachines/Vm")
	if want := "azure:///subscriptions/S/resourceGroups/my-rg/providers/Microsoft.Compute/virtualMachines/Vm"; got != want {
		t.Errorf("provider ID %q, want %q", got, want)
	}
}

func TestIdentityID(t *testing.T) {
	for _, given := range []string{"/subscriptions/s", "azure:///subscriptions/s", "azure:////subscriptions/s", "subscriptions/s"} {
		if got := IdentityID(given); got != "/subscriptions/s" {
			t.Errorf("IdentityID(%q) = %q", given, got)
		}
	}
}

// checkOrder fails if a resource comes before one of its needs.
func checkOrder(t *testing.T, resources []Resource) {
	t.Helper()
	var seen []string
	for _, r := range resources {
		for _, need := range r.Needs {
			ours := slices.ContainsFunc(resources, func(o Resource) bool { return o.ID == need })
			if ours && !slices.Contains(seen, need) {
				t.Errorf("%s comes before %s, which it needs", r.ID, need)
			}
		}
		if r.Condition == "" || r.Field == "" || r.APIVersion == "" || r.Policy == "" {
			t.Errorf("%s lacks a condition, field, API version or policy", r.ID)
		}
		seen = append(seen, r.ID)
	}
}

func clusterInput(t *testing.T, file string) ClusterInput {
	t.Helper()
	c := &infrav1.AzureCluster{}
	read(t, file, c)
	return ClusterInput{Cluster: c, ClusterName: c.Name}
}

func machineInput(t *testing.T, file string) MachineInput {
	t.Helper()
	var f machineFile
	read(t, file, &f)
	in := clusterInput(t, f.Cluster)
	return MachineInput{
		Cluster: in.Cluster, Machine: &f.Machine, ClusterName: in.ClusterName,
		VMName: f.VMName, ControlPlane: f.ControlPlane, Zone: f.Zone, Image: f.Image,
		BootstrapData: []byte(f.BootstrapData), AdminPassword: f.AdminPassword,
		AcceleratedNetworking: f.AcceleratedNetworking, ARM64: f.ARM64,
		AvailabilitySet: f.AvailabilitySet, SSHPort: f.SSHPort, PrincipalID: f.PrincipalID,
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func compare(t *testing.T, name string, resources []Resource) {
	t.Helper()
	got, err := json.MarshalIndent(resources, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", strings.TrimSuffix(name, ".yaml")+".golden.json"), append(got, '\n'))
}
