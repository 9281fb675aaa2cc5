package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/testing/emulator"
)

// emulated returns a client of a local Azure with faults.
func emulated(t *testing.T, faults ...fault.Rule) *arm.Client {
	t.Helper()
	set, err := fault.New(fault.File{Rules: faults})
	if err != nil {
		t.Fatal(err)
	}
	return emulator.Client(t, azuresim.Config{Faults: set})
}

// others is a resource group of another owner.
const others = "/subscriptions/" + azuresim.DefaultSubscription + "/resourceGroups/others"

// network creates a virtual network with one subnet in group others; edit changes the properties of both.
func network(t *testing.T, client *arm.Client, name, cidr, subnet, subnetCIDR string, edit ...func(vnet, subnet map[string]any)) {
	t.Helper()
	if _, err := client.Put(t.Context(), others, "2021-04-01", map[string]any{"location": "westeurope"}); err != nil {
		t.Fatal(err)
	}
	part := map[string]any{"addressPrefix": subnetCIDR}
	properties := map[string]any{
		"addressSpace": map[string]any{"addressPrefixes": []string{cidr}},
		"subnets":      []any{map[string]any{"name": subnet, "properties": part}},
	}
	for _, change := range edit {
		change(properties, part)
	}
	_, err := client.Put(t.Context(), others+"/providers/Microsoft.Network/virtualNetworks/"+name, networkAPIVersion,
		map[string]any{"location": "westeurope", "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
}

// group creates a security group without rules in the existing group others, and returns an edit that attaches it.
func group(t *testing.T, client *arm.Client, name string) func(vnet, subnet map[string]any) {
	t.Helper()
	id := others + "/providers/Microsoft.Network/networkSecurityGroups/" + name
	if _, err := client.Put(t.Context(), id, networkAPIVersion, map[string]any{"location": "westeurope"}); err != nil {
		t.Fatal(err)
	}
	return func(_, subnet map[string]any) { subnet["networkSecurityGroup"] = map[string]any{"id": id} }
}

// manifest returns the base manifest with replacements, each at all places, and additional objects.
func manifest(t *testing.T, edits []string, more string) *lint.Set {
	t.Helper()
	base, err := os.ReadFile("testdata/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(base)
	for i := 0; i+1 < len(edits); i += 2 {
		changed := strings.ReplaceAll(text, edits[i], edits[i+1])
		if changed == text {
			t.Fatalf("the base has no %q", edits[i])
		}
		text = changed
	}
	if more != "" {
		text += "---\n" + more
	}
	set, errs := lint.Parse("cluster.yaml", []byte(text), lint.Options{})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return set
}

func read(t *testing.T, set *lint.Set) *Plan {
	t.Helper()
	plan, err := Read(set)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// found returns the findings of this package's own checks, as rule, object and path.
func found(t *testing.T, client *arm.Client, set *lint.Set) []string {
	t.Helper()
	plan := read(t, set)
	facts, err := Ask(t.Context(), client, "test", plan)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range lint.Run(set, Rules(plan, facts), lint.Target{}) {
		if f.Message == "" || f.Fix == "" || f.Line == 0 || f.File == "" {
			t.Errorf("%+v lacks something", f)
		}
		out = append(out, f.Rule+" "+f.Object+" "+f.Path)
	}
	return slices.Compact(out)
}

// isSupport reports whether a finding is about a version that Cluster API does not support.
func isSupport(found string) bool { return strings.HasPrefix(found, "PRE309 ") }

// sshKey is set in manifests so that admission generates none.
const sshKey = "c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUNxZFliTHpuKytGSXVuRzFndkJCUTduSkNWNVZHRDJ5cjFJWXliQ1ZBcDE="

func windowsMachine(name string) string {
	return strings.NewReplacer("KEY", sshKey, "NAME", name).Replace(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: NAME, namespace: default}
spec:
  clusterName: demo
  version: v1.36.3
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: demo-md-win}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachine, name: NAME}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachine
metadata: {name: NAME, namespace: default}
spec: {vmSize: Standard_D4s_v3, sshPublicKey: KEY, osDisk: {osType: Windows, diskSizeGB: 128}}
---
`)
}

func windowsPool(name string) string {
	return strings.NewReplacer("KEY", sshKey, "NAME", name).Replace(`apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: NAME, namespace: default}
spec:
  clusterName: demo
  replicas: 1
  template:
    spec:
      clusterName: demo
      version: v1.36.3
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: demo-md-win}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureMachinePool, name: NAME}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachinePool
metadata: {name: NAME, namespace: default}
spec: {location: westeurope, template: {vmSize: Standard_D4s_v3, sshPublicKey: KEY, osDisk: {osType: Windows, diskSizeGB: 128}}}
---
`)
}

const hostProcess = `apiVersion: v1
kind: Pod
metadata: {name: agent}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  hostNetwork: true
  securityContext: {windowsOptions: {hostProcess: true, runAsUserName: 'NT AUTHORITY\SYSTEM'}}
  containers: [{name: a, image: example.com/agent}]
`

// marketplace returns edits that add a marketplace image to the Windows machines.
func marketplace(sku, version string) []string {
	const size = "        osType: Windows\n"
	return []string{size, size +
		"      image: {marketplace: {publisher: cncf-upstream, offer: capi-windows, sku: " + sku + ", version: " +
		version + "}}\n"}
}

// groupRule returns edits that deny ports between the nodes.
func groupRule(protocol, ports string) []string {
	const role = "      role: node\n"
	rule := func(name, action, protocol, ports, source, priority string) string {
		return "        - {name: " + name + ", description: " + name + ", direction: Inbound, sourcePorts: '*', " +
			"action: " + action + ", protocol: '" + protocol + "', destinationPorts: '" + ports + "', " +
			"source: '" + source + "', priority: " + priority + "}\n"
	}
	return []string{role, role + "      securityGroup:\n        name: nodes\n        securityRules:\n" +
		rule("ssh", "Allow", "Tcp", "22", "*", "2000") + rule("deny", "Deny", protocol, ports, "VirtualNetwork", "3000")}
}

const flannelChart = `apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: flannel, namespace: default}
spec: {clusterSelector: {}, repoURL: https://flannel-io.github.io/flannel, chartName: flannel}
`

func flannelOf(backend string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-flannel-cfg, namespace: kube-system}\ndata:\n" +
		`  net-conf.json: '{"Network": "192.168.0.0/16", "Backend": {"Type": "` + backend +
		`", "VNI": 4096, "Port": 4789}}'` + "\n"
}

// TestChecks has, for each check, a manifest with a finding and a similar one without.
func TestChecks(t *testing.T) {
	const (
		pods   = "192.168.0.0/16"
		cp     = "KubeadmControlPlane/default/demo-control-plane "
		win    = "AzureMachineTemplate/default/demo-md-win spec.template.spec."
		azure  = "AzureCluster/default/demo spec."
		ranges = "Cluster/default/demo spec.clusterNetwork."
	)
	vnet := "    vnet:\n      name: demo-vnet\n"
	peered := func(cidr string) []string {
		return []string{vnet, vnet + "      cidrBlocks: [" + cidr +
			"]\n      peerings: [{resourceGroup: others, remoteVnetName: theirs}]\n",
			"role: control-plane", "role: control-plane\n      cidrBlocks: [" + strings.Replace(cidr, "/16", "/24", 1) + "]",
			"role: node", "role: node\n      cidrBlocks: [" + strings.Replace(cidr, ".0.0/16", ".1.0/24", 1) + "]"}
	}
	own := func(name string) []string {
		return []string{vnet, "    vnet:\n      resourceGroup: others\n      name: " + name + "\n",
			"name: control-plane-subnet", "name: all",
			"    - name: node-subnet\n      natGateway:\n        name: node-natgateway\n      role: node\n", "",
			"role: control-plane", "role: cluster\n      cidrBlocks: [10.50.0.0/24]"}
	}
	all := emulated(t)
	network(t, all, "theirs", "10.50.0.0/16", "all", "10.50.0.0/24")
	network(t, all, "closed", "10.50.0.0/16", "all", "10.50.0.0/24", group(t, all, "empty"))
	network(t, all, "narrow", "10.50.0.0/16", "all", "10.50.0.0/29")
	internal := func(name string) []string {
		return append(own(name), "  networkSpec:\n",
			"  networkSpec:\n    apiServerLB: {type: Internal, name: lb, frontendIPs: [{name: f, privateIP: 10.50.0.100}]}\n")
	}
	network(t, all, "named", "10.50.0.0/16", "all", "10.50.0.0/24", func(vnet, _ map[string]any) {
		vnet["dhcpOptions"] = map[string]any{"dnsServers": []string{"10.50.0.4"}}
	})
	for _, tc := range []struct {
		name      string
		bad       []string
		badMore   string
		want      []string
		good      []string
		goodMore  string
		faults    []fault.Rule
		faultWant []string
	}{
		{name: "subscription", bad: []string{
			"subscriptionID: 00000000-0000-0000-0000-0000000000a1",
			"subscriptionID: 00000000-0000-0000-0000-0000000000ff",
		}, want: []string{"PRE101 " + azure + "subscriptionID"}},
		{name: "location", bad: []string{"location: westeurope", "location: atlantis"},
			want: []string{"PRE103 " + azure + "location"},
			good: []string{"location: westeurope", "location: northeurope"}},
		{name: "denied", faults: []fault.Rule{{Kind: fault.Unavailable, Verbs: []string{"GET"}, Type: "*usages*",
			Status: 403, Code: "AuthorizationFailed"}}, faultWant: []string{"PRE104 " + azure + "subscriptionID"}},
		{name: "size", bad: []string{"      vmSize: Standard_D2s_v3", "      vmSize: Standard_X2"}, want: []string{
			"PRE111 AzureMachineTemplate/default/demo-control-plane spec.template.spec.vmSize",
			"PRE111 AzureMachineTemplate/default/demo-md-0 spec.template.spec.vmSize", "PRE111 " + win + "vmSize",
		},
			good: []string{"      vmSize: Standard_D2s_v3", "      vmSize: standard_d4S_v3"}},
		{name: "retired size", bad: []string{"      vmSize: Standard_D2s_v3", "      vmSize: Standard_NV12s_v3"}, want: []string{
			"PRE111 AzureMachineTemplate/default/demo-control-plane spec.template.spec.vmSize",
			"PRE117 AzureMachineTemplate/default/demo-control-plane spec.template.spec.vmSize",
			"PRE111 AzureMachineTemplate/default/demo-md-0 spec.template.spec.vmSize",
			"PRE117 AzureMachineTemplate/default/demo-md-0 spec.template.spec.vmSize",
			"PRE111 " + win + "vmSize", "PRE117 " + win + "vmSize",
		}},
		{name: "zone", bad: []string{
			"        name: demo-md-win\n      version",
			"        name: demo-md-win\n      failureDomain: \"7\"\n      version",
		}, want: []string{"PRE111 " + win + "vmSize"},
			good: []string{"        name: demo-md-win\n      version",
				"        name: demo-md-win\n      failureDomain: \"1\"\n      version"}},
		{name: "quota", bad: []string{"replicas: 1\n", "replicas: 2501\n", pods, "192.0.0.0/8"},
			want: []string{"PRE112 AzureMachineTemplate/default/demo-control-plane spec.template.spec.vmSize"},
			good: []string{"replicas: 1\n", "replicas: 1001\n", pods, "192.0.0.0/8"}},
		{name: "quota of spot", bad: []string{
			"replicas: 1\n", "replicas: 2501\n", pods, "192.0.0.0/8", "      sshPublicKey",
			"      spotVMOptions: {}\n      sshPublicKey",
		}, want: []string{"PRE112 AzureMachineTemplate/default/demo-control-plane spec.template.spec.vmSize"},
			good: []string{"replicas: 1\n", "replicas: 1001\n", pods, "192.0.0.0/8", "      sshPublicKey",
				"      spotVMOptions: {}\n      sshPublicKey"}},
		{name: "image by version", bad: []string{"version: v1.36.3", "version: v1.36.99"}, want: []string{
			"PRE113 " + cp + "spec.version",
			"PRE113 MachineDeployment/default/demo-md-0 spec.template.spec.version",
			"PRE113 MachineDeployment/default/demo-md-win spec.template.spec.version",
		},
			good: []string{"version: v1.36.3", "version: v1.35.1"}},
		{name: "identity", bad: []string{"        osType: Windows\n", "        osType: Windows\n      identity: " +
			"UserAssigned\n      userAssignedIdentities: [{providerID: 'azure:///" +
			"subscriptions/" + azuresim.DefaultSubscription +
			"/resourceGroups/x/providers/Microsoft.ManagedIdentity/userAssignedIdentities/none'}]\n"},
			want: []string{"PRE114 " + win + "userAssignedIdentities[0].providerID"}},
		{name: "image", bad: marketplace("k8s-1dot99dot1-windows-2019-containerd", "latest"),
			want: []string{"PRE113 " + win + "image", "PRE303 " + win + "image"}},
		{name: "range", bad: []string{pods, "192.168.0.0/99"}, want: []string{"PRE201 " + ranges + "pods.cidrBlocks[0]"}},
		{name: "range of Services", bad: []string{"10.96.0.0/12", "172.0.0.0/8"},
			want: []string{"PRE201 " + ranges + "services.cidrBlocks[0]"},
			good: []string{"10.96.0.0/12", "172.16.0.0/12"}},
		{name: "pods and Services", bad: []string{pods, "10.100.0.0/16"}, want: []string{"PRE202 " + ranges + "pods.cidrBlocks[0]"}},
		{name: "pods and nodes", bad: []string{pods, "10.1.0.0/16"},
			want: []string{"PRE202 " + ranges + "pods.cidrBlocks[0]"}, good: []string{pods, "172.20.0.0/16"}},
		{name: "Services and nodes", bad: []string{"10.96.0.0/12", "10.0.0.0/12"},
			want: []string{"PRE202 " + ranges + "services.cidrBlocks[0]"}},
		{name: "pods in the network", bad: []string{pods, "10.64.0.0/16"},
			want: []string{"PRE202 " + ranges + "pods.cidrBlocks[0]"},
			good: []string{pods, "10.64.0.0/16", "cni: calico", "cni: azure-cni-v1"}},
		{name: "room", bad: []string{pods, "192.168.0.0/23"}, want: []string{"PRE203 " + ranges + "pods.cidrBlocks[0]"},
			good: []string{pods, "192.168.0.0/23", "        - name: cluster-name\n",
				"        - name: node-cidr-mask-size\n          value: \"26\"\n        - name: cluster-name\n"}},
		{name: "peering", bad: peered("10.50.0.0/16"),
			want: []string{"PRE204 " + azure + "networkSpec.vnet.peerings[0].remoteVnetName"},
			good: peered("10.51.0.0/16")},
		{name: "peering with a missing network",
			bad:  []string{vnet, vnet + "      peerings: [{resourceGroup: others, remoteVnetName: missing}]\n"},
			want: []string{"PRE204 " + azure + "networkSpec.vnet.peerings[0].remoteVnetName"}},
		{name: "network of one's own", bad: own("missing"),
			want: []string{"PRE205 " + azure + "networkSpec.vnet.name"}, good: own("theirs")},
		{name: "network that keeps clients out", bad: own("closed"),
			want: []string{"PRE209 " + azure + "networkSpec.vnet.name"}, good: internal("closed")},
		{name: "network without room", bad: append(own("narrow"), "replicas: 1\n", "replicas: 2\n"),
			want: []string{"PRE210 " + azure + "networkSpec.subnets[0].name"}, good: own("narrow")},
		{name: "network with name servers", bad: internal("named"),
			want: []string{"PRE211 " + azure + "networkSpec.vnet.name"}, good: own("named")},
		{name: "subnet", bad: []string{
			"        osType: Windows\n",
			"        osType: Windows\n      networkInterfaces: [{privateIPConfigs: 1, subnetName: nowhere}]\n",
		}, want: []string{"PRE206 " + win + "networkInterfaces[0].subnetName"},
			good: []string{"        osType: Windows\n", "        osType: Windows\n" +
				"      networkInterfaces: [{privateIPConfigs: 1, subnetName: node-subnet}]\n"}},
		{name: "security group", bad: groupRule("Udp", "4000-5000"),
			want: []string{"PRE207 " + azure + "networkSpec.subnets[1].securityGroup.securityRules"},
			good: groupRule("Tcp", "4000-5000")},
		{name: "security group of another CNI", bad: groupRule("*", "*"),
			want: []string{"PRE207 " + azure + "networkSpec.subnets[1].securityGroup.securityRules"},
			good: append(groupRule("*", "*"), "cni: calico", "cni: azure")},
		{name: "Flannel without Docker", bad: []string{"cni: calico", "cni: flannel-windows"},
			want: []string{"PRE208 Cluster/default/demo metadata.labels.cni"},
			good: []string{"cni: calico", "cni: flannel-windows", "version: v1.36.3", "version: v1.23.1",
				"windowsServerVersion: windows-2022", "windowsServerVersion: windows-2019"}},
		{name: "Flannel by routes", badMore: flannelOf("host-gw"), goodMore: flannelOf("vxlan"),
			want: []string{`PRE208 ConfigMap/kube-system/kube-flannel-cfg data["net-conf.json"]`}},
		{name: "Flannel's chart without ranges of nodes", badMore: flannelChart, bad: []string{"        - name: cluster-name\n",
			"        - name: allocate-node-cidrs\n          value: \"false\"\n        - name: cluster-name\n"},
			want: []string{"PRE212 " + cp +
				"spec.kubeadmConfigSpec.clusterConfiguration.controllerManager.extraArgs[1].value"}, goodMore: flannelChart},
		{name: "domain of Azure's DNS", bad: joining("Add-Computer -DomainName corp.example"),
			want: []string{"PRE404 " + strings.TrimSuffix(win, ".")},
			good: append(joining("Add-Computer -DomainName corp.example"), "        osType: Windows\n",
				"        osType: Windows\n      dnsServers: [10.1.0.4]\n")},
		{name: "domain and a long name", bad: append(joining("Add-Computer -NewName windows-node-of-demo"), "        osType: Windows\n",
			"        osType: Windows\n      dnsServers: [10.1.0.4]\n"),
			want: []string{"PRE405 KubeadmConfigTemplate/default/demo-md-win spec.template.spec.preKubeadmCommands[0]"},
			good: append(joining("Add-Computer -NewName demo-win-1"), "        osType: Windows\n",
				"        osType: Windows\n      dnsServers: [10.1.0.4]\n")},
		{name: "version", bad: []string{"      version: v1.36.3", "      version: 1.36"}, want: []string{
			"PRE301 MachineDeployment/default/demo-md-0 spec.template.spec.version",
			"PRE301 MachineDeployment/default/demo-md-win spec.template.spec.version",
		}},
		{name: "kubelets too new", bad: []string{"\n  version: v1.36.3", "\n  version: v1.35.1"}, want: []string{
			"PRE302 MachineDeployment/default/demo-md-0 spec.template.spec.version",
			"PRE302 MachineDeployment/default/demo-md-win spec.template.spec.version",
		}},
		{name: "kubelets too old", bad: []string{"      version: v1.36.3", "      version: v1.32.1"}, want: []string{
			"PRE302 MachineDeployment/default/demo-md-0 spec.template.spec.version",
			"PRE302 MachineDeployment/default/demo-md-win spec.template.spec.version",
		},
			good: []string{"      version: v1.36.3", "      version: v1.33.1"}},
		{name: "Cluster API before its support", bad: []string{"version: v1.36.3", "version: v1.30.14"},
			want: []string{"PRE309 " + cp + "spec.version"},
			good: []string{"version: v1.36.3", "version: v1.31.14"}},
		{name: "Cluster API's support to come", bad: []string{"version: v1.36.3", "version: v1.38.0"}, want: []string{
			"PRE113 " + cp + "spec.version", "PRE309 " + cp + "spec.version",
			"PRE113 MachineDeployment/default/demo-md-0 spec.template.spec.version",
			"PRE113 MachineDeployment/default/demo-md-win spec.template.spec.version",
		},
			good: []string{"version: v1.36.3", "version: v1.37.2"}},
		{name: "kubeadm's old format", bad: append(joining("Set-Content c:/k/format kubeadm.k8s.io/v1beta3"),
			"version: v1.36.3", "version: v1.37.2"),
			want: []string{"PRE310 KubeadmConfigTemplate/default/demo-md-win spec.template.spec.preKubeadmCommands[0]"},
			good: joining("Set-Content c:/k/format kubeadm.k8s.io/v1beta3")},
		{name: "kubeadm's old format in a file", bad: []string{"    files:\n    - contentFrom:",
			"    files:\n    - {path: /opt/a.yaml, encoding: base64, content: YXBpVmVyc2lvbjoga3ViZWFkbS5rOHMuaW8vdjFiZXRhMwo=}\n    - contentFrom:",
			"version: v1.36.3", "version: v1.37.2"},
			want: []string{"PRE310 " + cp + "spec.kubeadmConfigSpec.files[0].content"},
			good: []string{"    files:\n    - contentFrom:",
				"    files:\n    - {path: /opt/a.yaml, content: 'apiVersion: kubeadm.k8s.io/v1beta4'}\n    - contentFrom:"}},
		{name: "image of another version", bad: marketplace("k8s-1dot22dot1-windows-2019-containerd", "latest"),
			want: []string{"PRE303 " + win + "image"},
			good: append(marketplace("k8s-1dot22dot1-windows-2019-containerd", "latest"), "version: v1.36.3",
				"version: v1.22.1+rke2r1", "windowsServerVersion: windows-2022",
				"windowsServerVersion: windows-2019")},
		{name: "image of a version that commands replace", bad: marketplace("k8s-1dot22dot1-windows-2019-containerd", "latest"),
			want: []string{"PRE303 " + win + "image"},
			good: append(joining(`foreach ($b in @("kubeadm.exe","kubelet.exe")) { curl.exe -L "https://ci.example.org/$b" --output "c:/k/$b" }`),
				marketplace("k8s-1dot22dot1-windows-2019-containerd", "latest")...)},
		{name: "image of Linux", bad: append(marketplace("k8s-1dot22dot1-ubuntu-2004", "latest"), "capi-windows",
			"capi", "version: v1.36.3", "version: v1.22.1"), want: []string{"PRE304 " + win + "image"}},
		{name: "Windows past its end", bad: []string{"        osType: Windows\n", "        osType: Windows\n    " +
			"  image: {computeGallery: {gallery: mine, name: capi-win-23h2-containerd, version: " +
			"1.36.3}}\n"}, want: []string{"PRE113 " + win + "image", "PRE305 " + win + "image"}},
		{name: "a release that Calico refuses", bad: []string{"windowsServerVersion: windows-2022", "windowsServerVersion: windows-2025"},
			want: []string{"PRE308 AzureMachineTemplate/default/demo-md-win spec.template.spec"}},
		{name: "a release that Kubernetes does not name", bad: []string{"windowsServerVersion: windows-2022",
			"windowsServerVersion: windows-2019"}, want: []string{"PRE308 AzureMachineTemplate/default/demo-md-win spec.template.spec"}},
		{name: "a build that an update broke", bad: []string{"        osType: Windows\n",
			"        osType: Windows\n      image: {marketplace: {publisher: MicrosoftWindowsServer, offer: WindowsServer, " +
				"sku: 2022-datacenter-core-smalldisk, version: 20348.2700.240905}}\n"},
			want: []string{"PRE307 " + win + "image"}},
		{name: "HostProcess", bad: []string{
			"version: v1.36.3", "version: v1.22.1", "windowsServerVersion: windows-2022",
			"windowsServerVersion: windows-2019", "runtime: containerd", "runtime: dockershim",
		}, badMore: hostProcess, want: []string{"PRE306 MachineDeployment/default/demo-md-win spec.template.spec.version"},
			good: []string{"version: v1.36.3", "version: v1.23.1", "windowsServerVersion: windows-2022",
				"windowsServerVersion: windows-2019"}, goodMore: hostProcess},
		{name: "computers", badMore: windowsMachine("windows-1-one-abcde") + windowsMachine("windows-1-two-abcde"),
			goodMore: windowsMachine("windows-1-one-abcde") + windowsMachine("windows-1-two-fghij"),
			want:     []string{"PRE401 AzureMachine/default/windows-1-two-abcde metadata.name"}},
		{name: "scale sets", badMore: windowsPool("first-pool-a") + windowsPool("other-pool-a"),
			goodMore: windowsPool("first-pool-a") + windowsPool("other-pool-b"),
			want:     []string{"PRE402 AzureMachinePool/default/other-pool-a metadata.name"}},
		{name: "namesakes", badMore: namesake("prod", "g"), goodMore: namesake("prod", "h"),
			bad:  []string{"  resourceGroup: demo\n", "  resourceGroup: g\n"},
			want: []string{"PRE406 AzureCluster/prod/demo spec.resourceGroup"}},
		{name: "missing", bad: []string{
			"kind: AzureMachineTemplate\n        name: demo-md-win",
			"kind: AzureMachineTemplate\n        name: elsewhere",
		}, want: []string{"PRE403 MachineDeployment/default/demo-md-win spec.template.spec.infrastructureRef.name"}},
		{name: "admission", bad: []string{"diskSizeGB: 128", "diskSizeGB: 99999"}, want: []string{
			"PRE501 AzureMachineTemplate/default/demo-control-plane spec.template.spec.osDisk.diskSizeGB",
			"PRE501 AzureMachineTemplate/default/demo-md-0 spec.template.spec.osDisk.diskSizeGB",
			"PRE501 " + win + "osDisk.diskSizeGB",
		},
			good: []string{"diskSizeGB: 128", "diskSizeGB: 256"}},
		{name: "schema",
			bad:  []string{"        osType: Windows\n", "        osType: Windows\n        cachingType: Sometimes\n"},
			want: []string{"PRE501 " + win + "osDisk.cachingType"},
			good: []string{"        osType: Windows\n", "        osType: Windows\n        cachingType: ReadOnly\n"}},
		{name: "ephemeral disk", bad: []string{"        osType: Windows\n",
			"        osType: Windows\n        diffDiskSettings: {option: Local}\n",
			"diskSizeGB: 128", "diskSizeGB: 512"}, want: []string{"PRE115 " + win + "osDisk.diskSizeGB"},
			good: []string{"        osType: Windows\n", "        osType: Windows\n        diffDiskSettings: {option: Local}\n",
				"diskSizeGB: 128", "diskSizeGB: 40"}},
		{name: "small disk", bad: append(marketplace("k8s-1dot22dot1-windows-2019-containerd", "latest"), "version: v1.36.3", "version: v1.22.1",
			"diskSizeGB: 128", "diskSizeGB: 64"), want: []string{"PRE118 " + win + "osDisk.diskSizeGB"},
			good: []string{"diskSizeGB: 128", "diskSizeGB: 127"}},
		{name: "script for Linux", bad: []string{"    files:\n    - contentFrom:",
			"    files:\n    - {path: /opt/a.sh, content: \"#!/bin/sh\\r\\necho a\\r\\n\"}\n" +
				"    - {path: /opt/b, encoding: base64, content: IyEvYmluL3NoDQplY2hvIGENCg==}\n    - contentFrom:"},
			want: []string{"PRE602 " + cp + "spec.kubeadmConfigSpec.files[0].content", "PRE602 " + cp + "spec.kubeadmConfigSpec.files[1].content"},
			good: []string{"    files:\n    - contentFrom:",
				"    files:\n    - {path: /opt/a.sh, content: \"#!/bin/sh\\necho a\\n\"}\n    - contentFrom:"}},
		{name: "image of generation 1", bad: []string{"        osType: Windows\n",
			"        osType: Windows\n      securityProfile: {securityType: TrustedLaunch, " +
				"uefiSettings: {secureBootEnabled: true, vTpmEnabled: true}}\n"},
			want: []string{"PRE116 " + win + "securityProfile"}},
		{name: "wrong type", bad: []string{"\n  replicas: 1\n", "\n  replicas: \"1\"\n"},
			want: []string{"PRE505 " + cp + "spec.replicas", "PRE505 MachineDeployment/default/demo-md-0 spec.replicas",
				"PRE505 MachineDeployment/default/demo-md-win spec.replicas"}},
		{name: "bootstrap data", bad: []string{
			"criSocket: npipe:////./pipe/containerd-containerd", "criSocket: /var/run/containerd/containerd.sock",
		}, want: []string{"PRE601 KubeadmConfigTemplate/default/demo-md-win spec.template.spec.files"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := all
			if len(tc.faults) > 0 {
				client = emulated(t, tc.faults...)
			}
			find := func(set *lint.Set) []string {
				got := found(t, client, set)
				if !slices.ContainsFunc(tc.want, isSupport) { // many cases use old versions
					got = slices.DeleteFunc(got, isSupport)
				}
				return got
			}
			got := find(manifest(t, tc.bad, tc.badMore))
			if len(tc.faults) == 0 && !slices.Equal(got, tc.want) {
				t.Errorf("found\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tc.want, "\n  "))
			} else if len(tc.faults) > 0 && !slices.Equal(got, tc.faultWant) {
				t.Errorf("found %v with faults, want %v", got, tc.faultWant)
			}
			got = find(manifest(t, tc.good, tc.goodMore))
			if len(got) > 0 && len(tc.faults) == 0 {
				t.Errorf("found in what is good: %v", got)
			}
		})
	}
}

// TestRefusedTemplates checks that an object that the management cluster refuses is reported even if it is a template
// that a rendered topology replaces.
func TestRefusedTemplates(t *testing.T) {
	template, errs := lint.Parse("class.yaml", []byte("apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\n"+
		"kind: RKE2ConfigTemplate\nmetadata: {name: workers}\n"), lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rendered := &lint.Set{}
	plan, err := Read(rendered)
	if err != nil {
		t.Fatal(err)
	}
	plan.Server = map[*lint.Object]string{template.Objects[0]: "it serves no kind RKE2ConfigTemplate"}
	if found := Run(rendered, plan, nil); len(found) != 1 || found[0].Rule != "PRE504" {
		t.Errorf("findings %v, want PRE504 of the template", found)
	}
}

// TestFlavors: the templates that casement publishes have no findings.
func TestFlavors(t *testing.T) {
	for _, name := range flavors.List() {
		t.Run(name, func(t *testing.T) {
			template, err := flavors.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]string{"AZURE_LOCATION": "westeurope",
				"AZURE_SUBSCRIPTION_ID": azuresim.DefaultSubscription, "KUBERNETES_VERSION": kuberelease.Default,
				"CLUSTER_NAME": "demo", "NAMESPACE": "default",
				"AZURE_CLUSTER_IDENTITY_SECRET_NAMESPACE": "default", "CONTROL_PLANE_MACHINE_COUNT": "3",
				"WORKER_MACHINE_COUNT": "2", "AZURE_SSH_PUBLIC_KEY_B64": sshKey,
				"WINDOWS_IMAGE_GALLERY": "nodes", "WINDOWS_IMAGE_NAME": "win-2022", "WINDOWS_IMAGE_RESOURCE_GROUP": "images",
				"WINDOWS_IMAGE_VERSION": "1.0.0", "DOMAIN_NAME": "corp.example", "DOMAIN_DNS_SERVERS": "10.1.0.4",
				"DOMAIN_JOIN_SECRET_URL": "https://v.vault.azure.net/secrets/join", "GMSA_IDENTITY_ID": "/subscriptions/" +
					azuresim.DefaultSubscription + "/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/gmsa"}
			text, _, err := flavors.Fill(template, func(name string) (string, bool) {
				value, ok := values[name]
				if !ok && strings.HasPrefix(name, "AZURE_CL") || name == "AZURE_TENANT_ID" || name == "CLUSTER_IDENTITY_NAME" {
					return strings.ToLower(strings.ReplaceAll(name, "_", "-")), true
				}
				return value, ok
			})
			if err != nil {
				t.Fatal(err)
			}
			set, errs := lint.Parse(name, text, lint.Options{})
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for _, f := range Run(set, read(t, set), nil) {
				if f.Severity == lint.Error || strings.HasPrefix(f.Rule, "PRE") {
					t.Errorf("%s:%d %s %s %s: %s", f.File, f.Line, f.Rule, f.Object, f.Path, f.Message)
				}
			}
		})
	}
}

// TestStates covers states of a subscription that the local Azure never has.
func TestStates(t *testing.T) {
	for _, tc := range []struct{ name, state, provider, want string }{
		{"enabled", "Enabled", "", ""},
		{"disabled", "Disabled", "", "error PRE101"},
		{"past due", "PastDue", "", "warning PRE101"},
		{"not registered", "Enabled", "Microsoft.Compute", "warning PRE102"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &Subscription{ID: azuresim.DefaultSubscription, State: tc.state, Unregistered: map[string]string{}}
			if tc.provider != "" {
				s.Unregistered[tc.provider] = "NotRegistered"
			}
			set := manifest(t, nil, "")
			plan := read(t, set)
			got := ""
			for _, f := range lint.Run(set, Rules(plan, &Facts{subscriptions: map[string]*Subscription{s.ID: s}}), lint.Target{}) {
				got += f.Level + " " + f.Rule
			}
			if got != tc.want {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}

// TestNulls: a null in a field that cannot be null, as in a base for kustomize or from a variable without a value, is
// no finding, because kubectl apply and create accept it. (A server-side apply of the null image is refused.)
func TestNulls(t *testing.T) {
	set := manifest(t, []string{"      osDisk:\n", "      image:\n      osDisk:\n"}, "")
	for _, f := range Run(set, read(t, set), nil) {
		if f.Severity == lint.Error {
			t.Errorf("%s %s: %s", f.Rule, f.Path, f.Message)
		}
	}
}

// TestOffline: without Azure, only the checks that need Azure are missing, and the rules of lint run.
func TestOffline(t *testing.T) {
	set := manifest(t, []string{"location: westeurope", "location: atlantis",
		"criSocket: npipe:////./pipe/containerd-containerd", "criSocket: /var/run/containerd/containerd.sock"}, "")
	var got []string
	for _, f := range Run(set, read(t, set), nil) {
		if f.Severity == lint.Error {
			got = append(got, f.Rule)
		}
	}
	slices.Sort(got)
	if want := []string{"PRE601", "WIN807"}; !slices.Equal(slices.Compact(got), want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestAskEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Ask(ctx, emulated(t), "test", read(t, manifest(t, nil, ""))); !errors.Is(err, context.Canceled) {
		t.Errorf("Ask after the end of its context: %v", err)
	}
}

// TestDocumented: each check has the texts that explain and SARIF print, and a unique ID.
func TestDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules(nil, nil) {
		if r.Title == "" || r.Doc == "" || r.Severity == 0 || r.Check == nil || !strings.HasPrefix(r.ID, "PRE") || seen[r.ID] {
			t.Errorf("%s: %q, severity %v", r.ID, r.Title, r.Severity)
		}
		seen[r.ID] = true
		r.Check(&lint.Pass{Set: &lint.Set{}})
	}
}

// namesake returns another Cluster with the name demo.
func namesake(namespace, group string) string {
	return fmt.Sprintf(`---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: demo, namespace: %[1]s}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, name: demo}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureCluster
metadata: {name: demo, namespace: %[1]s}
spec:
  location: westeurope
  resourceGroup: %[2]s
  subscriptionID: 00000000-0000-0000-0000-0000000000a1
  identityRef: {kind: AzureClusterIdentity, name: cluster-identity, namespace: default}
`, namespace, group)
}

// joining returns edits that make the Windows machines run a command before kubeadm.
func joining(command string) []string {
	const post = "      postKubeadmCommands:\n      - powershell"
	return []string{post, "      preKubeadmCommands:\n      - powershell " + command + "\n" + post}
}
