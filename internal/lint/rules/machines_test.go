package rules

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint"
)

// TestMachines checks the findings of the rules for manifests of Cluster API and Azure, over objects that
// belong together.
func TestMachines(t *testing.T) {
	const args = "spec.template.spec.joinConfiguration.nodeRegistration.kubeletExtraArgs"
	listed := func(name, value string) string {
		return "joinConfiguration:\n  nodeRegistration:\n    kubeletExtraArgs:\n    - name: " + name + "\n      value: \"" + value + "\"\n"
	}
	linux := func(text string) string { return strings.ReplaceAll(text, "osType: Windows", "osType: Linux") }
	demo := cluster("    pods:\n      cidrBlocks: [10.0.0.0/16]\n    services:\n      cidrBlocks: [10.96.0.0/12]\n")
	bare := strings.Replace(demo, "    windows: enabled\n    cni: calico\n", "    network: ours\n", 1)
	chart := func(values string) string {
		return "---\napiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata:\n  name: calico\nspec:\n" +
			"  clusterSelector:\n    matchExpressions:\n    - {key: network, operator: In, values: [ours]}\n  valuesTemplate: |\n" +
			indent(values, 4)
	}
	calicoValues := "installation:\n  {{- if .Cluster }}\n  serviceCIDRs: [10.96.0.0/12]\n  {{- end }}\n  calicoNetwork:\n" +
		"    bgp: Disabled\n    mtu: 1350\n    ipPools:\n    - cidr: {{ index .Cluster.spec.clusterNetwork.pods.cidrBlocks 0 }}\n" +
		"      encapsulation: VXLAN\n    windowsDataplane: HNS\n"
	for name, c := range map[string]struct {
		rule, text string
		want       []string
	}{
		"control plane of v1beta2": {"WIN801", strings.Replace(controlPlane("Windows"), "    infrastructureRef:\n"+
			"      kind: AzureMachineTemplate\n      name: win", "    spec:\n      infrastructureRef:\n"+
			"        kind: AzureMachineTemplate\n        name: win", 1), []string{"error spec.machineTemplate"}},
		"template elsewhere": {"WIN801", strings.Split(controlPlane("Windows"), "---\n")[0], nil},
		"a Cluster of another project": {"WIN808", "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata:\n" +
			"  name: demo\n---\n" + workers("v1.36.3", "users: []\n"), nil},
		"name still to be filled in": {"WIN802", strings.ReplaceAll(workers("v1.36.3", "users: []\n"), "name: win\n",
			"name: ${CLUSTER_NAME}-win\n"), nil},
		"long name of a scale set": {"WIN803", machinePool("eastern-win01"), []string{"info metadata.name"}},
		"System pool":              {"WIN804", managedPool("win1", "System"), []string{"error spec.mode"}},
		"network plugin": {"WIN804", managedPool("win1", "User") + "---\n" +
			"apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureManagedControlPlane\nmetadata:\n  name: demo\nspec:\n" +
			"  networkPlugin: kubenet\n", []string{"error spec.networkPlugin"}},
		"reserved word": {"WIN805", azureCluster("my-windows"), []string{"warning metadata.name"}},
		"socket of another time": {"WIN807", workers("v1.23.17",
			"joinConfiguration:\n  nodeRegistration:\n    criSocket: npipe:////./pipe/dockershim\n"), nil},
		"socket of Linux workers": {"WIN807", linux(workers("v1.36.3",
			"joinConfiguration:\n  nodeRegistration:\n    criSocket: unix:///run/containerd/containerd.sock\n")), nil},
		"labels that an add-on selects": {"WIN808", bare + workers("v1.36.3", "users: []\n") + chart(calicoValues), nil},
		"labels that no add-on selects": {"WIN808", strings.Replace(bare, "network: ours", "network: theirs", 1) +
			workers("v1.36.3", "users: []\n") + chart(calicoValues), []string{"error metadata.labels"}},
		"no add-on at all": {"WIN808", bare + workers("v1.36.3", "users: []\n"), []string{"info metadata.labels"}},
		"no csi-proxy": {"WIN808", strings.Replace(demo, "    csi-proxy: enabled\n", "", 1) +
			workers("v1.36.3", "users: []\n"), []string{"warning metadata.labels"}},
		"dockershim before 1.24": {"WIN809", strings.Replace(workers("v1.23.17", "users: []\n"), "windowsServerVersion",
			"runtime: dockershim\n        windowsServerVersion", 1), nil},
		"image with Docker": {"WIN809", windowsTemplate("      image:\n        marketplace:\n" +
			"          sku: windows-2019-dockershim\n"), []string{"error spec.template.spec.image.marketplace.sku"}},
		"no version": {"WIN810", strings.Replace(windowsTemplate(""), "        windowsServerVersion: "+
			"windows-2022\n", "        a: b\n", 1), []string{"info spec.template.metadata.annotations.windowsServerVersion"}},
		"an empty version": {"WIN810", strings.Replace(windowsTemplate(""), "windows-2022", `""`, 1),
			[]string{"info spec.template.metadata.annotations.windowsServerVersion"}},
		"a version still to be filled in": {"WIN810", strings.Replace(windowsTemplate(""), "windows-2022",
			`${WINDOWS_SERVER_VERSION:=""}`, 1), nil},
		"pools of AKS": {"WIN808", bare + "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\n" +
			"metadata:\n  name: w\nspec:\n  clusterName: demo\n  template:\n    spec:\n      clusterName: demo\n" +
			"      infrastructureRef: {kind: AzureManagedMachinePool, name: w}\n---\n" + managedPool("w", "User"), nil},
		"old flag, version not filled in": {"WIN812", workers("'${KUBERNETES_VERSION}'",
			kubelet("pod-infra-container-image: x")), []string{"warning " + args + ".pod-infra-container-image"}},
		"Calico for Windows apart": {"WIN820", demo + workers("v1.36.3", "users: "+
			"[]\n") + chart(strings.Replace(strings.Replace(calicoValues, "HNS", "Disabled", 1), "serviceCIDRs",
			"x", 1)) + windowsSet, nil},
		"own image": {"WIN810", strings.Replace(windowsTemplate("      image: {id: x}\n"),
			"        windowsServerVersion: windows-2022\n", "        a: b\n", 1), nil},
		"unknown year": {"WIN810", strings.Replace(windowsTemplate(""), "windows-2022", "windows-2016", 1),
			[]string{"info spec.template.metadata.annotations.windowsServerVersion"}},
		"gate among others": {"WIN811", workers("v1.36.3", kubelet("feature-gates: A=true,WinDSR=false")),
			[]string{"error " + args + ".feature-gates"}},
		"gate that is gone": {"WIN811", workers("v1.36.3", kubelet("feature-gates: CSIMigrationAzureDisk=true")),
			[]string{"error " + args + ".feature-gates"}},
		"gate that is gone, on Linux": {"WIN811", strings.ReplaceAll(workers("v1.36.3", kubelet("feature-gates: CSIMigrationAzureDisk=true")),
			"osType: Windows", "osType: Linux"), []string{"error " + args + ".feature-gates"}},
		"gate that is there still, on Linux": {"WIN811", strings.ReplaceAll(workers("v1.26.3",
			kubelet("feature-gates: CSIMigrationAzureDisk=true")), "osType: Windows", "osType: Linux"), nil},
		"no gate on 1.22": {"WIN811", workers("v1.22.4", kubelet("v: '2'")),
			[]string{"error spec.template.spec.joinConfiguration.nodeRegistration.kubeletExtraArgs"}},
		"no gate on 1.22 with Docker": {"WIN811", strings.Replace(workers("v1.22.4", kubelet("v: '2'")), "windowsServerVersion",
			"runtime: dockershim\n        windowsServerVersion", 1), nil},
		"the gate on 1.22": {"WIN811", workers("v1.22.4", kubelet("feature-gates: WindowsHostProcessContainers=true")), nil},
		"gate of its time": {"WIN811", workers("v1.27.3",
			kubelet("feature-gates: WindowsHostProcessContainers=true")), nil},
		"gate of the API server": {"WIN811", strings.Replace(controlPlane("Linux"), "  version: "+kuberelease.Default+"\n", "  "+
			"version: v1.36.3\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n"+
			"        - {name: feature-gates, value: HyperVContainer=true}\n", 1),
			[]string{"error spec.kubeadmConfigSpec.clusterConfiguration.apiServer.extraArgs[0].value"}},
		"flag of the new form": {"WIN812", workers("v1.36.3", listed("network-plugin", "cni")), []string{"error " +
			args + "[0].value"}},
		"flags of the guide": {"WIN812", workers("v1.36.3", kubelet("allow-privileged: 'true'", "log-dir: C:/k", "logtostderr: 'false'")),
			[]string{"error " + args + ".allow-privileged", "error " + args + ".log-dir", "error " + args + ".logtostderr"}},
		"flag of its time": {"WIN812", workers("v1.23.3", kubelet("network-plugin: cni")), nil},
		"version of the control plane": {"WIN812", strings.Replace(demo, "spec:\n", "spec:\n"+
			"  controlPlaneRef: {kind: KubeadmControlPlane, name: "+
			"demo}\n", 1) + strings.Replace(controlPlane("Linux"), kuberelease.Default, "v1.23.3", 1) + "---\n" +
			strings.Replace(strings.ReplaceAll(workers("", kubelet("network-plugin: cni")), "name: win\n", "name: win2\n"),
				"      version: \n", "", 1), nil},
		"taint in the kubelet's file": {"WIN813", workers("v1.36.3", kubelet("cloud-provider: external")+
			"files:\n- path: /x\n  content: |\n    registerWithTaints: [{key: "+cloudTaint+"}]\n"), nil},
		"Ignition": {"WIN814", workers("v1.36.3", "format: ignition\n"),
			[]string{"error spec.template.spec.format"}},
		"PowerShell with slashes": {"WIN815", workers("v1.36.3", "postKubeadmCommands:\n"+
			"- powershell -File /etc/kubernetes/x.ps1\n- nssm set kubelet start SERVICE_AUTO_START\n"), nil},
		"a script of bash": {"WIN815", workers("v1.36.3", "preKubeadmCommands:\n- bash -c /tmp/x.sh\n- bash -c 'apt-get install x'\n"),
			[]string{"warning spec.template.spec.preKubeadmCommands[0]", "error spec.template.spec.preKubeadmCommands[1]"}},
		"paths of Linux in a command": {"WIN815", workers("v1.36.3", "postKubeadmCommands:\n- echo x > /etc/motd\n"),
			[]string{"error spec.template.spec.postKubeadmCommands[0]"}},
		"patches of kubeadm": {"WIN816", workers("v1.36.3", "joinConfiguration:\n  patches:\n"+
			"    directory: /etc/kubernetes/patches\nfiles:\n- path: /etc/kubernetes/patches/kubeletconfiguration.yaml\n"), nil},
		"reserved in two flags": {"WIN818", workers("v1.36.3", kubelet("windows-priorityclass: x",
			"system-reserved: cpu=1,memory=1Gi", "kube-reserved: memory=1Gi")), nil},
		"Arm": {"WIN819", windowsTemplate("      vmSize: Standard_D4pds_v5\n"),
			[]string{"error spec.template.spec.vmSize"}},
		"constrained processors": {"WIN819", windowsTemplate("      vmSize: Standard_M8-2ms\n"), nil},
		"Calico by Helm":         {"WIN820", demo + workers("v1.36.3", "users: []\n") + chart(calicoValues), nil},
		"Calico by Helm in a loop": {"WIN820", demo + workers("v1.36.3", "users: []\n") + chart("installation:\n"+
			"  calicoNetwork:\n    windowsDataplane: HNS\n    ipPools:{{range $i, $cidr := .Cluster.pods }}\n"+
			"    - cidr: {{ $cidr }}\n      encapsulation: IPIP{{end}}\n  serviceCIDRs:\n  - 10.96.0.0/12 # the default\n"),
			[]string{"error spec.valuesTemplate"}},
		"Calico by Helm without Windows": {"WIN820", demo + workers("v1.36.3", "users: []\n") +
			chart(strings.Replace(calicoValues, "HNS", "Disabled", 1)), []string{"error spec.valuesTemplate"}},
		"Calico for Linux": {"WIN820", linux(demo+workers("v1.36.3", "users: []\n")) +
			chart(strings.Replace(calicoValues, "HNS", "Disabled", 1)), nil},
		"Services elsewhere": {"WIN820", demo + workers("v1.36.3", "users: []\n") +
			chart(strings.Replace(calicoValues, "10.96", "10.112", 1)), []string{"error spec.valuesTemplate"}},
		"IP in IP": {"WIN820", demo + workers("v1.36.3", "users: []\n") + "---\n" + installation("    "+
			"windowsDataplane: HNS\n    ipPools:\n    - encapsulation: IPIP\n  serviceCIDRs: [10.96.0.0/12]\n"),
			[]string{"error spec.calicoNetwork.ipPools[0].encapsulation"}},
		"borrowed addresses": {"WIN820", windowsPod + container + "---\napiVersion: crd.projectcalico.org/v1\n" +
			"kind: IPAMConfig\nmetadata:\n  name: default\nspec:\n  strictAffinity: false\n", []string{"error spec.strictAffinity"}},
		"MTU of Flannel": {"WIN821", windowsPod + container + "---\n" + flannel(`"Type": "vxlan", "MTU": 1450`),
			[]string{`warning data["net-conf.json"]`}},
		"Flannel by routes":                {"WIN822", windowsPod + container + "---\n" + flannel(`"Type": "host-gw"`), nil},
		"exceptions still to be filled in": {"WIN823", cniConf("__SERVICE_SUBNET__"), nil},
		"wider exception":                  {"WIN823", demo + workers("v1.36.3", "users: []\n") + "---\n" + cniConf("10.0.0.0/8"), nil},
		"dual-stack": {"WIN824", strings.Replace(demo, "[10.0.0.0/16]", "[10.0.0.0/16, 'fd00::/48']", 1) +
			workers("v1.36.3", "users: []\n"), []string{"warning spec.clusterNetwork.pods.cidrBlocks"}},
		"kube-proxy's mode": {"WIN825", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kube-proxy-windows\n" +
			"data:\n  config.conf: |\n    kind: KubeProxyConfiguration\n    mode: ipvs\n", []string{`warning data["config.conf"]`}},
		"no patch is whole":       {"WIN826", workers("v1.36.3", "users: []\n"), []string{"info spec.template.spec.version"}},
		"fixed in the last patch": {"WIN826", workers("v1.31.9", "users: []\n"), []string{"info spec.template.spec.version"}},
		"before the last patch": {"WIN826", workers("v1.32.0", "users: []\n"),
			[]string{"warning spec.template.spec.version", "info spec.template.spec.version"}},
		"the panic in winkernel": {"WIN826", workers("v1.37.0", "users: []\n"), []string{"warning spec.template.spec.version"}},
		"regression of 1.34": {"WIN826", workers("v1.34.3", "users: []\n"),
			[]string{"warning spec.template.spec.version", "info spec.template.spec.version"}},
		"old csi-proxy": {"WIN826", strings.Replace(windowsPod+container,
			"mcr.microsoft.com/windows/nanoserver:ltsc2022", "ghcr.io/kubernetes-sigs/sig-windows/csi-proxy:v1.0.2", 1),
			[]string{"warning spec.containers[0].image"}},
		"health check of v1beta2": {"WIN827", workers("v1.36.3", "users: "+
			"[]\n") + "---\n" + strings.Replace(healthCheck("0s"), "  nodeStartupTimeout: 0s\n",
			"  checks:\n    nodeStartupTimeoutSeconds: 600\n", 1), []string{"info spec.checks.nodeStartupTimeoutSeconds"}},
		"health check that never gives up": {"WIN827", workers("v1.36.3", "users: []\n") + "---\n" + healthCheck("0s"), nil},
		"health check without a timeout": {"WIN827", workers("v1.36.3", "users: []\n") + "---\n" +
			strings.Replace(healthCheck("0s"), "  nodeStartupTimeout: 0s\n", "", 1), []string{"info spec.nodeStartupTimeout"}},
		"health check of another deployment": {"WIN827", workers("v1.36.3", "users: []\n") + "---\n" +
			strings.Replace(healthCheck("5m"), "deployment-name: win", "deployment-name: other", 1), nil},
	} {
		t.Run(name, func(t *testing.T) { found(t, c.rule, c.text, lint.Target{}, c.want) })
	}
}
