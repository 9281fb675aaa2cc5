package images

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// node contains the fields of a Node that the test reads.
type node struct {
	Metadata struct{ Name string }
	Status   struct {
		NodeInfo   struct{ OperatingSystem, KubeletVersion, ContainerRuntimeVersion, OSImage string }
		Conditions []struct{ Type, Status string }
	}
}

func (n node) ready() bool {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// cluster creates a mixed cluster whose Windows machines have an image version, and moves its pool
// to the next version and to a version without a kubelet.
func (b *bench) cluster(t *testing.T) {
	b.t = t
	if !slices.Contains(b.versions("2022"), "1.1.0") { // this version is missing if the kills were left out
		b.build(build{release: "2022", version: "1.1.0", containerd: older})
	}
	manifest := b.Run(nil, "generate", "cluster", "demo", "--flavor", "windows", "--kubernetes-version", kubernetes)
	b.Run([]byte(b.withImage(manifest, "demo-md-win", "demo-md-win", "1.0.0")), "kubectl", "apply", "-f", "-")
	b.Run(nil, "wait", "demo", "--timeout", "5m")
	b.windows("containerd://2.1.4")

	b.move(manifest, "next", "1.1.0")
	b.windows("containerd://" + older)
	b.Run(nil, "wait", "demo", "--timeout", "5m")

	b.withoutKubelet()
	b.move(manifest, "bare", "2.0.0")
	var why string
	b.until("the cause", func() bool {
		why = b.Everything("why", "demo")
		return strings.Contains(why, "NotANodeImage")
	})
	if !strings.Contains(why, "'kubeadm' is not recognized") || !strings.Contains(why, "casement images build") {
		t.Errorf("the cause names no missing program and no fix:\n%s", why)
	}
	t.Log(why)
	b.Run(nil, "kubectl", "delete", "cluster", "demo", "--wait=false")
	b.Run(nil, "wait", "demo", "--for", "deleted", "--timeout", "5m")
}

// withImage returns a manifest whose Windows machine template has the image version and the given
// name. If the name is new, the manifest contains only this template.
func (b *bench) withImage(manifest, template, name, version string) string {
	b.t.Helper()
	var out []string
	for doc := range strings.SplitSeq(manifest, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			b.t.Fatal(err)
		}
		metadata, _ := object["metadata"].(map[string]any)
		is := object["kind"] == "AzureMachineTemplate" && metadata["name"] == template
		if !is && name != template {
			continue
		}
		if is {
			metadata["name"] = name
			spec := object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			spec["image"] = map[string]any{"computeGallery": map[string]any{"gallery": "nodes", "name": "win-2022",
				"version": version, "resourceGroup": "images", "subscriptionID": b.Subscription()}}
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return strings.Join(out, "---\n")
}

// move gives the Windows pool a template with an image version.
func (b *bench) move(manifest, name, version string) {
	b.t.Helper()
	name = "demo-md-win-" + name
	b.Run([]byte(b.withImage(manifest, "demo-md-win", name, version)), "kubectl", "apply", "-f", "-")
	b.Run(nil, "kubectl", "patch", "machinedeployment", "demo-md-win", "--type", "merge", "-p",
		fmt.Sprintf(`{"spec":{"template":{"spec":{"infrastructureRef":{"name":%q}}}}}`, name))
}

// windows waits until both Windows nodes are Ready and have a container runtime.
func (b *bench) windows(runtime string) {
	b.t.Helper()
	kubectl := b.Workload("demo")
	b.until("nodes with "+runtime, func() bool {
		var list struct{ Items []node }
		if err := json.Unmarshal([]byte(kubectl("get", "nodes", "-o", "json")), &list); err != nil {
			b.t.Fatal(err)
		}
		found := 0
		for _, n := range list.Items {
			if n.Status.NodeInfo.OperatingSystem != "windows" {
				continue
			}
			if found++; n.Status.NodeInfo.ContainerRuntimeVersion != runtime ||
				n.Status.NodeInfo.KubeletVersion != kubernetes || !n.ready() {
				return false
			}
		}
		return found == 2
	})
}

// withoutKubelet creates the image version 2.0.0 from a machine that has cloudbase-init, kubeadm
// and the service containerd, but no kubelet.
func (b *bench) withoutKubelet() {
	b.t.Helper()
	const group = "/resourceGroups/by-hand"
	location := map[string]any{"location": "westeurope"}
	with := func(properties map[string]any) map[string]any {
		return map[string]any{"location": "westeurope", "properties": properties}
	}
	b.Put(group, groupsVersion, location)
	network, nic, vm := group+"/providers/Microsoft.Network/virtualNetworks/n",
		group+"/providers/Microsoft.Network/networkInterfaces/n",
		group+"/providers/Microsoft.Compute/virtualMachines/vm"
	id := func(path string) map[string]any {
		return map[string]any{"id": "/subscriptions/" + b.Subscription() + path}
	}
	b.make(network, networkVersion, with(map[string]any{"addressSpace": map[string]any{
		"addressPrefixes": []string{"10.92.0.0/24"},
	}, "subnets": []any{map[string]any{"name": "s", "properties": map[string]any{"addressPrefix": "10.92.0.0/24"}}}}))
	b.make(nic, networkVersion, with(map[string]any{"ipConfigurations": []any{
		map[string]any{"name": "ip", "properties": map[string]any{"subnet": id(network + "/subnets/s")}},
	}}))
	b.make(vm, computeVersion, with(map[string]any{
		"hardwareProfile": map[string]any{"vmSize": "Standard_D4s_v3"},
		"storageProfile": map[string]any{"imageReference": map[string]any{
			"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter-core",
			"version": "latest",
		}, "osDisk": map[string]any{"createOption": "FromImage", "osType": "Windows"}},
		"osProfile":      map[string]any{"computerName": "by-hand", "adminUsername": "casement", "adminPassword": "Not-kept-anywhere-1"},
		"networkProfile": map[string]any{"networkInterfaces": []any{id(nic)}},
	}))
	b.make(vm+"/runCommands/agent", computeVersion, with(map[string]any{"source": map[string]any{"script": `
$uri = 'https://github.com/cloudbase/cloudbase-init/releases/download/1.1.6/CloudbaseInitSetup_1_1_6_x64.msi'
Invoke-WebRequest -UseBasicParsing -Uri $uri -OutFile C:\setup.msi
msiexec.exe /i C:\setup.msi /qn
Remove-Item C:\setup.msi
New-Service -Name containerd -StartupType Automatic -BinaryPathName 'C:\Program Files\containerd\containerd.exe --run-service'
New-Item -ItemType Directory -Force -Path C:\k
Invoke-WebRequest -UseBasicParsing -Uri https://dl.k8s.io/` + kubernetes + `/bin/windows/amd64/kubeadm.exe -OutFile C:\k\kubeadm.exe
[Environment]::SetEnvironmentVariable('Path', "$([Environment]::GetEnvironmentVariable('Path', 'Machine'));C:\k", 'Machine')`}}))
	b.post(vm, "deallocate")
	b.until("the machine is off", func() bool {
		var view struct{ Statuses []struct{ Code string } }
		b.ARM(vm+"/instanceView", computeVersion, &view)
		return strings.Contains(fmt.Sprint(view), "PowerState/deallocated")
	})
	b.post(vm, "generalize")
	b.make("/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes/images/win-2022/versions/2.0.0", galleryVersion,
		with(map[string]any{"storageProfile": map[string]any{"source": map[string]any{"virtualMachineId": id(vm)["id"]}}}))
	b.Azure("DELETE", group, groupsVersion, nil)
}
