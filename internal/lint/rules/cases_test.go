package rules

import (
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestCases checks the rules with more input than their examples. A case's want is the severity and path of each
// finding, in order.
func TestCases(t *testing.T) {
	const affinity = "  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n" +
		"        nodeSelectorTerms:\n        - matchExpressions:\n"
	term := func(key, value string) string {
		return "          - key: " + key + "\n            operator: In\n            values: [" + value + "]\n"
	}
	const at = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions"
	windowsDeployment := strings.Replace(deadline(900), "spec:\n  progress", "spec:\n  replicas: 1\n  progress", 1)
	for name, c := range map[string]struct {
		rule, text string
		target     lint.Target
		want       []string
	}{
		"class places": {"WIN001", strings.Replace(withClass("x", "kubernetes.io/os: windows"),
			"  nodeSelector:\n    kubernetes.io/os: windows\n  runtime", "  runtime", 1), lint.Target{}, nil},
		"class against os": {"WIN003", strings.Replace(strings.Replace(withClass("x", "kubernetes.io/os: "+
			"windows"), "  nodeSelector:\n    kubernetes.io/os: windows\n  runtime", "  runtime", 1), "name: windows", "name: linux",
			1), lint.Target{}, []string{"error spec.os.name"}},
		"beta label of an affinity": {"WIN005", windowsPod + affinity + term("beta.kubernetes.io/arch", "amd64") +
			container, lint.Target{}, []string{"warning " + at + "[0].key"}},
		"beta label of a class": {"WIN005", withClass("x", "beta.kubernetes.io/os: windows"), lint.Target{},
			[]string{`warning scheduling.nodeSelector["beta.kubernetes.io/os"]`}},
		"beta label of a spread": {"WIN005", windowsPod + "  topologySpreadConstraints:\n" +
			"  - topologyKey: beta.kubernetes.io/os\n" + container, lint.Target{},
			[]string{"warning spec.topologySpreadConstraints[0].topologyKey"}},
		"capitals in an affinity": {"WIN006", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\n" +
			"spec:\n" + affinity + term("kubernetes.io/os", "Windows") + container, lint.Target{}, []string{
			"error " + at + "[0].values[0]",
		}},
		"build of an affinity": {"WIN008", windowsPod + affinity + term("node.kubernetes.io/windows-build",
			"ltsc2022") + container, lint.Target{}, []string{"error " + at + "[0].values[0]"}},
		"Arm in an affinity": {"WIN010", windowsPod + affinity + term("kubernetes.io/arch", "arm64") + container,
			lint.Target{}, []string{"error " + at + "[0].values[0]"}},
		"preferred Windows": {"WIN007", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n" +
			"  affinity:\n    nodeAffinity:\n      preferredDuringSchedulingIgnoredDuringExecution:\n      - weight: 1\n" +
			"        preference:\n          matchExpressions:\n" +
			"          - {key: kubernetes.io/os, operator: In, values: [windows]}\n" + container, lint.Target{}, []string{"warning " +
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values"}},
		"preferred Linux": {"WIN007", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n" +
			"  affinity:\n    nodeAffinity:\n      preferredDuringSchedulingIgnoredDuringExecution:\n      - weight: 1\n" +
			"        preference:\n          matchExpressions:\n          - {key: kubernetes.io/os, operator: In, values: [linux]}\n" +
			"  containers:\n  - name: app\n    image: registry.example/app:1\n", lint.Target{}, nil},
		"taint of another case": {"WIN009", windowsPod + "  tolerations:\n  - key: os\n" +
			"    value: windows\n" + container, lint.Target{Taints: []lint.Taint{{Key: "os", Value: "Windows", Effect: "NoSchedule"}}},
			[]string{"warning spec.tolerations"}},
		"no taints known":     {"WIN009", windowsPod + container, lint.Target{}, nil},
		"not a mixed cluster": {"WIN011", linuxWorkload("DaemonSet", ""), lint.Target{}, nil},
		"taints keep it off": {"WIN012", linuxWorkload("Deployment", ""), lint.Target{Mixed: true,
			Taints: []lint.Taint{{Key: "os"}}}, nil},
		"own sidecar": {"WIN015", annotated("example.org/inject: " +
			"'yes'"), lint.Target{
			Sidecars: []string{"example.org/inject"},
		}, []string{`warning metadata.annotations["example.org/inject"]`}},
		"sidecars of the namespace": {"WIN015", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n" +
			"  labels: {istio-injection: enabled}\n---\n" + strings.Replace(windowsPod, "  name: example\n",
			"  name: example\n  namespace: shop\n", 1) + container, lint.Target{}, []string{"warning metadata"}},
		"sidecars that the pod declines": {"WIN015", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n" +
			"  labels: {istio-injection: enabled}\n---\n" + strings.Replace(windowsPod, "  name: example\n", "  name: example\n"+
			"  namespace: shop\n  labels: {sidecar.istio.io/inject: 'false'}\n", 1) + container, lint.Target{}, nil},
		"unknown class": {"WIN014", strings.Replace(withClass("x", "kubernetes.io/os: windows"),
			"runtimeClassName: example", "runtimeClassName: other", 1), lint.Target{}, []string{"error spec.runtimeClassName"}},
		"classes elsewhere": {"WIN014", windowsPod + "  runtimeClassName: other\n" + container, lint.Target{}, nil},
		"handler of Docker": {"WIN014", withClass("docker", "kubernetes.io/os: windows"), lint.Target{},
			[]string{"error handler"}},
		"handler of Docker long ago": {"WIN014", withClass("docker", "kubernetes.io/os: windows"), lint.Target{Minor: 22}, nil},
		"stop signal without the gate": {"WIN127", windowsPod + container + "    lifecycle:\n      stopSignal: SIGUSR1\n",
			lint.Target{}, []string{"warning spec.containers[0].lifecycle.stopSignal"}},
		"overhead in fractions": {"WIN201", windowsPod + "  overhead:\n    memory: 100m\n" + container, lint.Target{},
			[]string{"error spec.overhead.memory"}},
		"floor of one's own": {"WIN203", windowsPod + container + "    resources:\n      limits:\n" +
			"        memory: 256Mi\n", lint.Target{NanoServerFloor: "300Mi"}, []string{"info spec.containers[0].resources.limits.memory"}},
		"patched subPath": {"WIN303", windowsPod + container + "    volumeMounts:\n" +
			"    - {name: data, mountPath: 'C:/x', subPath: x}\n  volumes:\n  - name: data\n    emptyDir: {}\n", lint.Target{Minor: 28,
			Patch: new(1)}, nil},
		"subPath of a release without fix": {"WIN303", windowsPod + container + "    volumeMounts:\n" +
			"    - {name: data, mountPath: 'C:/x', subPath: x}\n  volumes:\n  - name: data\n    emptyDir: {}\n",
			lint.Target{Minor: 23}, []string{"warning spec.containers[0].volumeMounts[0].subPath"}},
		"token that every pod gets": {"WIN306", windowsPod + container + "  volumes:\n  - name: kube-api-access-abcde\n" +
			"    projected:\n      sources:\n      - serviceAccountToken: {path: token}\n", lint.Target{}, nil},
		"mode of an item": {"WIN307", mounted("C:/data", "    configMap:\n      name: a\n      items:\n"+
			"      - key: a\n        path: a\n        mode: 0755\n"), lint.Target{},
			[]string{"warning spec.volumes[0].configMap.items[0].mode"}},
		"configuration of the CNI": {"WIN313", mounted("C:/data", "    hostPath:\n      path: /etc/cni/net.d\n"),
			lint.Target{}, nil},
		"other directories of Linux": {"WIN313", mounted("C:/data", "    hostPath:\n      path: /etc/ssl\n"), lint.Target{},
			[]string{"error spec.volumes[0].hostPath.path"}},
		"etc of the node": {"WIN312", strings.Replace(mounted("/etc/calico", emptyDir), "spec:\n",
			"spec:\n  securityContext: {windowsOptions: {hostProcess: true}}\n", 1), lint.Target{}, nil},
		"claimed block device": {"WIN308", strings.Replace(claimed("disk.csi.azure.com", ""), "storageClassName: "+
			"data\n", "storageClassName: data\n  volumeMode: Block\n", 1), lint.Target{}, []string{"error spec.volumeMode"}},
		"claimed NFS": {"WIN317", strings.Replace(claimed("x", ""), "storageClassName: "+
			"data\n", "volumeName: exports\n", 1) + "---\napiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: exports\nspec:\n" +
			"  nfs: {server: s, path: /}\n", lint.Target{}, []string{"error spec.nfs"}},
		"Azure Files by NFS": {"WIN320", claimed("file.csi.azure.com", "parameters:\n  protocol: nfs\n"),
			lint.Target{}, []string{"error parameters.protocol"}},
		"inline driver": {"WIN320", mounted("C:/data", "    csi:\n      driver: blob.csi.azure.com\n"),
			lint.Target{}, []string{"error spec.volumes[0].csi.driver"}},
		"names that differ in case": {"WIN322", mounted("C:/data", "    configMap:\n      name: settings\n") + "---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  A: x\n  a: x\n  path: x\n", lint.Target{},
			[]string{"warning data.a"}},
		"csi-proxy by label": {"WIN325", csiPlugin(`\\.\pipe\csi-proxy-filesystem-v1`) + "---\n" +
			cluster("    pods: {}\n"), lint.Target{}, nil},
		"policy with SCTP": {"WIN406", service("") + "---\napiVersion: networking.k8s.io/v1\n" +
			"kind: NetworkPolicy\nmetadata:\n  name: example\nspec:\n  podSelector:\n    matchLabels:\n      app: example\n" +
			"  ingress:\n  - ports:\n    - protocol: SCTP\n      port: 80\n", lint.Target{},
			[]string{"error spec.ingress[0].ports[0].protocol"}},
		"policy for others": {"WIN406", service("") + "---\napiVersion: networking.k8s.io/v1\n" +
			"kind: NetworkPolicy\nmetadata:\n  name: example\nspec:\n  podSelector:\n    matchLabels:\n      app: other\n  ingress:\n" +
			"  - ports:\n    - protocol: SCTP\n", lint.Target{}, nil},
		"preserved destination": {"WIN407", strings.Replace(service(""), "  name: example\n", "  name: example\n"+
			"  annotations:\n    preserve-destination: \"true\"\n", 1), lint.Target{},
			[]string{"warning metadata.annotations.preserve-destination"}},
		"affinity on newer nodes": {"WIN408", service("  sessionAffinity: ClientIP\n"),
			lint.Target{Windows: []string{"2022", "2025"}}, nil},
		"zones by annotation": {"WIN410", strings.Replace(service(""), "  name: example\n", "  name: example\n"+
			"  annotations:\n    service.kubernetes.io/topology-mode: Auto\n", 1), lint.Target{},
			[]string{`warning metadata.annotations["service.kubernetes.io/topology-mode"]`}},
		"autoscaled beyond": {"WIN412", windowsDeployment + "---\napiVersion: autoscaling/v2\n" +
			"kind: HorizontalPodAutoscaler\nmetadata:\n  name: example\nspec:\n  maxReplicas: 1100\n  scaleTargetRef:\n" +
			"    kind: Deployment\n    name: example\n", lint.Target{}, []string{"warning spec.maxReplicas"}},
		"dual-stack on an overlay": {"WIN413", service("  ipFamilyPolicy: RequireDualStack\n") + "---\n" +
			flannel(`"Type": "vxlan"`), lint.Target{}, []string{"warning spec.ipFamilyPolicy"}},
		"ping inside": {"WIN414", command(`cmd, /c, "ping -n 1 web.default.svc & ping 10.0.0.1"`), lint.Target{}, nil},
		"ping to the internet": {"WIN414", command(`cmd, /c, "ping -n 1 8.8.8.8"`), lint.Target{},
			[]string{"warning spec.containers[0].command"}},
		"aliases with Docker": {"WIN416", aliases(false), lint.Target{Minor: 22, Docker: true},
			[]string{"warning spec.hostAliases"}},
		"huge credential spec": {"WIN503", options(windowsPod, "gmsaCredentialSpecName: a\n"+
			"      gmsaCredentialSpec: "+strings.Repeat("x", 70000)), lint.Target{},
			[]string{"error spec.securityContext.windowsOptions.gmsaCredentialSpec"}},
		"credential spec that is not there": {"WIN504", strings.Replace(gmsa("default"), "gmsaCredentialSpecName: "+
			"web", "gmsaCredentialSpecName: other", 1), lint.Target{},
			[]string{"warning spec.securityContext.windowsOptions.gmsaCredentialSpecName"}},
		"gate of 1.22": {"WIN511", options(windowsPod, "hostProcess: true"), lint.Target{Minor: 22,
			Gates: map[string]bool{"WindowsHostProcessContainers": true}}, nil},
		"containerd 1.6": {"WIN511", options(windowsPod, "hostProcess: true"), lint.Target{Containerd: "1.6.20"},
			[]string{"warning spec.securityContext.windowsOptions.hostProcess"}},
		"containerd 2": {"WIN511", options(windowsPod, "hostProcess: true"), lint.Target{Containerd: "2.1"}, nil},
		"administrator on the node": {"WIN517", strings.Replace(mounted("C:/data", "    hostPath:\n"+
			"      path: C:/data\n"), "nanoserver", "servercore", 1), lint.Target{},
			[]string{"warning spec.containers[0].securityContext.windowsOptions.runAsUserName"}},
		"keys of ConfigMaps": {"WIN607", windowsPod + container + "    envFrom:\n    - prefix: P\n" +
			"      configMapRef:\n        name: settings\n    env:\n    - name: PATH\n      value: x\n---\napiVersion: v1\n" +
			"kind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  ath: x\n", lint.Target{},
			[]string{"warning spec.containers[0].env[0].name"}},
		"another SystemRoot": {"WIN608", windowsPod + container + "    env:\n    - name: SystemRoot\n" +
			"      value: D:/\n", lint.Target{}, []string{"error spec.containers[0].env[0].name"}},
		"PATH of Windows": {"WIN608", windowsPod + container +
			"    env:\n    - name: PATH\n      value: C:\\app;C:\\Windows\n", lint.Target{}, nil},
		"doubled dollars of the docs": {"WIN609", windowsPod + container +
			"    command: [powershell, -command, '$$listener.Start() ; while ($$x) { $$y }']\n", lint.Target{}, nil},
		"dollars that are lost": {"WIN609", windowsPod + container + "    command: [powershell, -command, 'Get-Item; " +
			"$$']\n", lint.Target{}, []string{"info spec.containers[0].command[2]"}},
		"two builds in one pod": {"WIN702", windowsPod + "  containers:\n" +
			"  - {name: a, image: 'mcr.microsoft.com/windows/servercore:ltsc2019'}\n" +
			"  - {name: b, image: 'mcr.microsoft.com/windows/servercore:ltsc2022'}\n", lint.Target{},
			[]string{"error spec.containers[1].image"}},
		"build of the nodes": {"WIN702", windowsPod + "  containers:\n" +
			"  - {name: a, image: 'mcr.microsoft.com/windows/servercore:ltsc2019'}\n", lint.Target{Windows: []string{"2022"}},
			[]string{"error spec.containers[0].image"}},
		"an old image, and nothing is said of the nodes": {"WIN702", windowsPod + "  containers:\n" +
			"  - {name: a, image: 'mcr.microsoft.com/windows/servercore:ltsc2019'}\n", lint.Target{},
			[]string{"warning spec.containers[0].image"}},
		"the build of another release": {"WIN702", strings.Replace(windowsPod, "kubernetes.io/os: windows\n",
			"kubernetes.io/os: windows\n    node.kubernetes.io/windows-build: 10.0.20348\n", 1) + "  containers:\n" +
			"  - {name: a, image: 'mcr.microsoft.com/windows/servercore:ltsc2022'}\n", lint.Target{Windows: []string{"2025"}},
			[]string{`error spec.nodeSelector["node.kubernetes.io/windows-build"]`}},
		"newer host": {"WIN702", windowsPod + "  containers:\n" +
			"  - {name: a, image: 'mcr.microsoft.com/windows/servercore:ltsc2022'}\n", lint.Target{Windows: []string{"2025"}}, nil},
		"pause on Server 2025": {"WIN707", windowsPod + "  containers:\n" +
			"  - {name: a, image: 'registry.k8s.io/pause:3.9'}\n", lint.Target{Windows: []string{"2025"}},
			[]string{"warning spec.containers[0].image"}},
		"hypervisor and HostProcess": {"WIN709", strings.Replace(withClass(hypervisor, "kubernetes.io/os: windows"), "  "+
			"runtimeClassName", "  securityContext:\n    windowsOptions:\n      hostProcess: true\n  runtimeClassName", 1),
			lint.Target{}, []string{"error spec.runtimeClassName"}},
		"base image at every start": {"WIN710", windowsPod + container + "    imagePullPolicy: Always\n", lint.Target{},
			[]string{"warning spec.containers[0].imagePullPolicy"}},
	} {
		t.Run(name, func(t *testing.T) { found(t, c.rule, c.text, c.target, c.want) })
	}
}

// found compares a rule's findings with severities and paths.
func found(t *testing.T, rule, text string, target lint.Target, want []string) {
	t.Helper()
	set, errs := lint.Parse("example", []byte(text), lint.Options{})
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	all := All()
	i := slices.IndexFunc(all, func(r lint.Rule) bool { return r.ID == rule })
	var got []string
	for _, f := range lint.Run(set, all[i:i+1], target) {
		got = append(got, f.Level+" "+f.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s finds %q, want %q, in\n%s", rule, got, want, text[:min(len(text), 4000)])
	}
}

// TestExpand: a fix that replaces one element by several keeps the list's style.
func TestExpand(t *testing.T) {
	for name, c := range map[string]struct{ command, want string }{
		"flow": {"    command: [echo, hello]\n", "    command: [cmd, /c, echo, hello]\n"},
		"block": {"    command:\n    - echo # says\n    - hello\n",
			"    command:\n    - cmd\n    - /c\n    - echo # says\n    - hello\n"},
		"words":          {"    command: [\"powershell -Command Get-Date\"]\n", "    command: [powershell, -Command, Get-Date]\n"},
		"words in lines": {"    command:\n      - tool --yes=no a:b\n", "    command:\n      - tool\n      - '--yes=no'\n      - 'a:b'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := windowsPod + container + c.command
			set, errs := lint.Parse("example", []byte(text), lint.Options{})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			all := slices.DeleteFunc(All(), func(r lint.Rule) bool { return r.ID != "WIN602" && r.ID != "WIN603" })
			fixed, made := lint.ApplyFixes("example", []byte(text), lint.Run(set, all, lint.Target{}))
			if want := windowsPod + container + c.want; string(fixed) != want || made != 1 {
				t.Errorf("made %d:\n%s\nwant\n%s", made, fixed, want)
			}
		})
	}
}
