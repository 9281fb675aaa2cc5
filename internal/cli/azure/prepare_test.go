package azure

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/testing/emulator"
)

// TestPrerequisites checks the resources that a manifest expects in Azure: a network in another resource
// group with the subnets that admission fills in, a peered network that does not overlap it, and, once, an
// identity that several machines share.
func TestPrerequisites(t *testing.T) {
	const manifest = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: demo, namespace: default}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, name: demo}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureCluster
metadata: {name: demo, namespace: default}
spec:
  resourceGroup: demo
  networkSpec:
    vnet:
      name: shared
      resourceGroup: networks
      peerings: [{resourceGroup: hub, remoteVnetName: hub-vnet}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: demo}
spec: {template: {spec: {userAssignedIdentities: [{providerID:
  "azure:///subscriptions/s/resourceGroups/ci/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes"}]}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachinePool
metadata: {name: demo}
spec: {userAssignedIdentities: [{providerID:
  "/subscriptions/s/resourceGroups/CI/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes"}]}
`
	set, unread := lint.Read([]string{"-"}, lint.Options{Stdin: strings.NewReader(manifest)})
	if len(unread) > 0 {
		t.Fatal(unread)
	}
	found, err := prerequisites(set, "11111111-1111-1111-1111-111111111111")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range found {
		got = append(got, p.kind+" "+p.group+"/"+p.name)
	}
	if want := []string{
		"security group networks/demo-controlplane-nsg", "security group networks/demo-node-nsg",
		"virtual network networks/shared", "virtual network hub/hub-vnet", "identity CI/nodes",
	}; !slices.EqualFunc(got, want, strings.EqualFold) {
		t.Fatalf("prerequisites %v, want %v", got, want)
	}
	const groups = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/networks/providers/" +
		"Microsoft.Network/networkSecurityGroups/"
	for i, want := range map[int]string{
		1: `{"securityRules":null}`,
		2: `{"addressSpace":{"addressPrefixes":["10.0.0.0/8"]},"subnets":[` +
			`{"name":"demo-controlplane-subnet","properties":{"addressPrefixes":["10.0.0.0/16"],` +
			`"networkSecurityGroup":{"id":"` + groups + `demo-controlplane-nsg"}}},` +
			`{"name":"demo-node-subnet","properties":{"addressPrefixes":["10.1.0.0/16"],` +
			`"networkSecurityGroup":{"id":"` + groups + `demo-node-nsg"}}}]}`,
		3: `{"addressSpace":{"addressPrefixes":["172.31.0.0/16"]},"subnets":null}`,
	} {
		body, err := json.Marshal(found[i].properties)
		if err != nil {
			t.Fatal(err)
		}
		if string(body) != want {
			t.Errorf("%s: %s, want %s", got[i], body, want)
		}
	}
	if rules, ok := found[0].properties.(map[string]any)["securityRules"].([]any); !ok || len(rules) != 2 {
		t.Errorf("the control plane's security group has the rules %v, want two", rules)
	}
}

// TestPrerequisiteOfBuild: an ImageBuild expects its gallery to exist; the documentation's example is such a build.
func TestPrerequisiteOfBuild(t *testing.T) {
	set, unread := lint.Read([]string{"../../../examples/windows-2022.yaml"}, lint.Options{})
	if len(unread) > 0 {
		t.Fatal(unread)
	}
	found, err := prerequisites(set, "s")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].subscription+found[0].path != "s/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes" {
		t.Errorf("it takes %v for granted", found)
	}
}

func TestRangeApart(t *testing.T) {
	for _, c := range []struct {
		taken []string
		want  string
	}{
		{nil, "172.31.0.0/16"},
		{[]string{"172.16.0.0/12"}, "192.168.0.0/16"},
		{[]string{"172.16.0.0/12", "192.168.0.0/24", "fd00::/64"}, "10.254.0.0/16"},
	} {
		if got, err := rangeApart(c.taken); err != nil || got != c.want {
			t.Errorf("rangeApart(%v) = %q, %v; want %q", c.taken, got, err, c.want)
		}
	}
	for _, taken := range [][]string{{"0.0.0.0/0"}, {"none"}} {
		if got, err := rangeApart(taken); err == nil {
			t.Errorf("rangeApart(%v) = %q, want an error", taken, got)
		}
	}
}

// TestPrerequisiteImages checks that an image in a subscription's gallery is expected to exist, once for all machines,
// and that an existing definition is not changed.
func TestPrerequisiteImages(t *testing.T) {
	const manifest = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: demo, namespace: default}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, name: demo}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureCluster
metadata: {name: demo, namespace: default}
spec: {location: westus2, resourceGroup: demo}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: win, namespace: default}
spec:
  clusterName: demo
  template: {spec: {clusterName: demo, version: v1.36.3, infrastructureRef: {kind: AzureMachineTemplate, name: win}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: win2, namespace: default}
spec:
  clusterName: demo
  template: {spec: {clusterName: demo, version: v1.36.3, infrastructureRef: {kind: AzureMachineTemplate, name: win}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: win, namespace: default}
spec:
  template:
    metadata: {annotations: {windowsServerVersion: windows-2025}}
    spec:
      osDisk: {osType: Windows}
      image:
        computeGallery: {subscriptionID: s, resourceGroup: images, gallery: own, name: win, version: latest}
`
	set, unread := lint.Read([]string{"-"}, lint.Options{Stdin: strings.NewReader(manifest)})
	if len(unread) > 0 {
		t.Fatal(unread)
	}
	found, err := prerequisites(set, "11111111-1111-1111-1111-111111111111")
	if err != nil {
		t.Fatal(err)
	}
	const definition = "/resourceGroups/images/providers/Microsoft.Compute/galleries/own/images/win"
	var got []string
	for _, p := range found {
		got = append(got, p.kind+" "+p.path)
	}
	if want := []string{"gallery " + strings.TrimSuffix(definition, "/images/win"), "image definition " + definition,
		"image version " + definition + "/versions/1.36.3"}; !slices.Equal(got, want) {
		t.Fatalf("prerequisites %q, want %q", got, want)
	}
	if found[2].location != "westus2" {
		t.Errorf("the version is made in %q, and the cluster is in westus2", found[2].location)
	}
	if found[2].in != definition {
		t.Errorf("the version is needless where %q is there, want the definition", found[2].in)
	}
	body, err := json.Marshal(found[2].properties)
	if err != nil || !strings.Contains(string(body), "/Images/capi-win-2025-containerd/Versions/1.36.3") {
		t.Errorf("the version is %s, %v, and no copy of the reference image", body, err)
	}
}

// TestIdentityHasItsRole: a program on a machine with a created identity may use its subscription.
func TestIdentityHasItsRole(t *testing.T) {
	client := emulator.Client(t, azuresim.Config{})
	const root, path = "/subscriptions/" + azuresim.DefaultSubscription,
		"/resourceGroups/ci/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes"
	a := app.New(app.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	for range 2 { // existing resources stay unchanged
		if err := prepare(t.Context(), a, client, []prerequisite{{kind: identityKind, group: "ci", name: "nodes",
			subscription: azuresim.DefaultSubscription, path: path, version: identityVersion}}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := client.Get(t.Context(), root+"/providers/Microsoft.Authorization/roleAssignments", roleVersion)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "b24988ac-6180-42a0-ab88-20f7382dd24c"); n != 1 {
		t.Errorf("%d roles: %s", n, data)
	}
}
