package rules

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
)

// TestRefusedOrIgnored adds one setting at a time to a cluster with Windows machines: each is found with its severity
// in the releases that refuse or ignore it, and in no other release.
func TestRefusedOrIgnored(t *testing.T) {
	shared := func(line string) string { return "---\n" + kubeletConfig(line) }
	inMap := func(line string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kubelet-config\n  namespace: kube-system\ndata:\n  kubelet: |\n" +
			indent(kubeletConfig(line), 4)
	}
	file := func(name, content string) string {
		return "files:\n- path: " + name + "\n  content: |\n" + indent(content, 4)
	}
	const patch = "c:/etc/kubernetes/patches/kubeletconfiguration0+strategic.json"
	for name, c := range map[string]struct {
		version string
		// lines are for the Windows machines' kubeadm configuration; more are additional documents.
		lines, more string
		want        string
	}{
		"oom kill, shared":          {"v1.37.2", "", shared("singleProcessOOMKill: true"), "error WIN828"},
		"oom kill, shared, off":     {"v1.32.1", "", shared("singleProcessOOMKill: false"), "error WIN828"},
		"oom kill in the ConfigMap": {"v1.37.2", "", inMap("singleProcessOOMKill: false"), "error WIN828"},
		"oom kill, not yet a field": {"v1.31.9", "", shared("singleProcessOOMKill: false"), ""},
		"oom kill in a patch":       {"v1.37.2", file(patch, "singleProcessOOMKill: true\n"), "", "error WIN828"},
		"oom kill in a JSON patch": {"v1.37.2", file(patch, "[{\"op\": \"add\", \"path\": \"/singleProcessOOMKill\", "+
			"\"value\": true}]\n"), "", "error WIN828"},
		"oom kill taken out by a patch": {"v1.37.2", file(patch, "[{\"op\": \"remove\", \"path\": \"/singleProcessOOMKill\"}]\n"), "", ""},
		"oom kill in a whole file": {"v1.37.2", file("c:/k/kubelet.yaml", kubeletConfig("singleProcessOOMKill: true")), "",
			"error WIN828"},
		"user namespaces":          {"v1.37.2", "", shared("userNamespaces: {idsPerPod: 65536}"), "error WIN828"},
		"user namespaces, not yet": {"v1.32.1", "", shared("userNamespaces: {idsPerPod: 65536}"), ""},
		"sysctls":                  {"v1.37.2", "", shared("defaultPodSysctls: {net.ipv4.tcp_syncookies: '1'}"), "error WIN828"},
		"sysctls, none":            {"v1.37.2", "", shared("defaultPodSysctls: {}"), ""},
		"sysctls, not yet":         {"v1.36.3", "", shared("defaultPodSysctls: {net.ipv4.tcp_syncookies: '1'}"), ""},
		"static memory":            {"v1.37.2", "", shared("memoryManagerPolicy: Static"), "info WIN828"},
		"processors":               {"v1.37.2", "", shared("cpuManagerPolicy: static"), "info WIN828"},
		"processors with the gate": {"v1.37.2", "", shared("cpuManagerPolicy: static\nfeatureGates: " +
			"{WindowsCPUAndMemoryAffinity: true}"), ""},
		"topology":                   {"v1.37.2", kubelet("topology-manager-policy: single-numa-node"), "", "info WIN828"},
		"cgroups per class":          {"v1.37.2", kubelet("cgroups-per-qos: 'true'"), "", "info WIN828"},
		"cgroups per class, off":     {"v1.37.2", kubelet("cgroups-per-qos: 'false'"), "", ""},
		"cgroups per class, refused": {"v1.30.9", kubelet("cgroups-per-qos: 'true'"), "", "error WIN828"},
		"enforced":                   {"v1.37.2", kubelet("enforce-node-allocatable: pods"), "", "info WIN828"},
		"enforced, nothing":          {"v1.37.2", kubelet("enforce-node-allocatable: ''"), "", ""},
		"resolv.conf of Linux":       {"v1.37.2", kubelet("resolv-conf: /run/systemd/resolve/resolv.conf"), "", "warning WIN828"},
		"resolv.conf, shared":        {"v1.37.2", "", shared("resolvConf: /run/systemd/resolve/resolv.conf"), ""},
		"cgroup driver, shared":      {"v1.37.2", "", shared("cgroupDriver: systemd"), ""},
		"cgroup driver, own":         {"v1.37.2", file(patch, "cgroupDriver: systemd\n"), "", "info WIN828"},
		"seccomp":                    {"v1.37.2", "", shared("seccompDefault: true"), "info WIN828"},
		"unsafe sysctls":             {"v1.37.2", "", shared("allowedUnsafeSysctls: ['net.*']"), "info WIN828"},
		"swap":                       {"v1.37.2", "", shared("memorySwap: {swapBehavior: LimitedSwap}"), "info WIN828"},
		"inodes":                     {"v1.37.2", "", shared("evictionHard: {nodefs.inodesFree: 5%}"), "info WIN828"},
		"memory, before it evicts":   {"v1.30.9", "", shared("evictionHard: {memory.available: 500Mi}"), "info WIN828"},
		"memory":                     {"v1.31.9", "", shared("evictionHard: {memory.available: 500Mi}"), ""},
		"graceful shutdown":          {"v1.37.2", "", shared("shutdownGracePeriod: 30s"), ""},
		"graceful shutdown, off":     {"v1.33.8", "", shared("shutdownGracePeriod: 30s"), "info WIN828"},
		"process limit":              {"v1.37.2", "", shared("podPidsLimit: 4096"), "info WIN828"},
		"a setting of all systems":   {"v1.37.2", "", shared("maxPods: 60"), ""},
		"kubeadm of old": {"v1.37.2", file("c:/k/join.yaml",
			"apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\n"), "", "error WIN829"},
		"kubeadm of old in 1.36": {"v1.36.3", file("c:/k/join.yaml",
			"apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\n"), "", ""},
		"kubeadm of old, a document": {"v1.37.2", "", "---\n" + kubeadmConfig("v1beta3"), "error WIN829"},
		"kubeadm of old, its ConfigMap": {"v1.37.2", "", "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " +
			"kubeadm-config\ndata:\n  ClusterConfiguration: |\n" + indent(kubeadmConfig("v1beta3"), 4), "error WIN829"},
		"kubeadm of the future": {"v1.37.2", "", "---\n" + kubeadmConfig("v1"), "error WIN829"},
		"kubeadm's gate": {"v1.37.2", "", "---\n" + kubeadmConfig("v1beta4") + "featureGates: {PublicKeysECDSA: true}\n",
			"error WIN829"},
		"a gate that is unknown":        {"v1.37.2", kubelet("feature-gates: WindowsHostProcessContainers=true"), "", "error WIN811"},
		"a gate that is unknown yet":    {"v1.31.9", kubelet("feature-gates: WindowsGracefulNodeShutdown=true"), "", "error WIN811"},
		"a gate that is locked":         {"v1.37.2", kubelet("feature-gates: NodeLogQuery=false"), "", "error WIN811"},
		"a gate that is locked, shared": {"v1.37.2", "", shared("featureGates: {WinDSR: false}"), "error WIN811"},
		"a gate of Linux":               {"v1.37.2", kubelet("feature-gates: UserNamespacesSupport=true"), "", "info WIN811"},
		"a gate without effect":         {"v1.37.2", kubelet("feature-gates: WindowsHostNetwork=true"), "", "warning WIN811"},
		"a gate that is fine":           {"v1.37.2", kubelet("feature-gates: WindowsGracefulNodeShutdown=true"), "", ""},
		"cAdvisor":                      {"v1.37.2", kubelet("global-housekeeping-interval: 1m"), "", "error WIN812"},
		"cAdvisor, never on Windows":    {"v1.31.9", kubelet("housekeeping-interval: 30s"), "", "error WIN812"},
		"a flag of Windows":             {"v1.37.2", kubelet("windows-priorityclass: ABOVE_NORMAL_PRIORITY_CLASS"), "", ""},
		"emptyDir's mode":               {"v1.37.2", "", "---\n" + mounted("C:/data", "    emptyDir: {mode: 0750}\n"), "warning WIN327"},
		"a file's owner": {"v1.37.2", "", "---\n" + mounted("C:/data", "    configMap: {name: a, defaultUser: 1000}\n"),
			"warning WIN327"},
		"a projected file's owner": {"v1.37.2", "", "---\n" + mounted("C:/data",
			"    projected: {sources: [{secret: {name: a, items: [{key: a, path: a, user: 5}]}}]}\n"), "warning WIN327"},
		"options of a mount": {"v1.37.2", "", "---\n" + windowsPod + container + "    volumeMounts:\n    - {name: a, " +
			"mountPath: 'C:/a', bindMountOptions: [noexec]}\n  volumes: [{name: a, emptyDir: {}}]\n", "warning WIN327"},
		"proxy with the shared ConfigMap": {"v1.37.2", "", "---\n" + sharedProxy, "warning WIN825"},
		"proxy with a lost flag": {"v1.37.2", "", "---\n" + kubeProxy("v1.37.2",
			"    args: ['--udp-timeout=1s', '--hostname-override=x']\n"), "error WIN825"},
		"proxy with iptables": {"v1.37.2", "", "---\n" + sharedProxy + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " +
			"kube-proxy\ndata:\n" +
			"  config.conf: |\n    kind: KubeProxyConfiguration\n    mode: iptables\n", "error WIN825"},
		"subPaths that leak": {"v1.36.3", "", "---\n" + windowsPod + container + "    volumeMounts:\n    - {name: a, mountPath: " +
			"'C:/a', subPath: a}\n" +
			"    - {name: a, mountPath: 'C:/b', subPath: b}\n  volumes: [{name: a, emptyDir: {}}]\n", "info WIN826"},
		"two families": {"v1.35.0", "", "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ipFamilyPolicy: PreferDualStack\n",
			"warning WIN826"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := c.lines
			if lines == "" {
				lines = "users: []\n"
			}
			text := workers(c.version, lines) + c.more
			set, errs := lint.Parse("planted", []byte(text), lint.Options{})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			target, err := lint.Config{KubernetesVersion: strings.TrimPrefix(c.version, "v")}.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range lint.Run(set, All(), target) {
				about := f.Rule == "WIN828" || f.Rule == "WIN829" || f.Rule == "WIN811" || f.Rule == "WIN812" || f.Rule == "WIN327" ||
					f.Rule == "WIN825" || f.Rule == "WIN826" && !strings.HasPrefix(f.Object, "MachineDeployment")
				if about {
					got = append(got, f.Level+" "+f.Rule)
				}
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("found %q, want %q, in\n%s", got, c.want, text)
			}
		})
	}
}

// sharedProxy is a kube-proxy on Windows that reads kubeadm's ConfigMap.
const sharedProxy = windowsPod + `  containers:
  - name: kube-proxy
    image: registry.example/kube-proxy:v1.37.2
    args: [--config=/var/lib/kube-proxy/config.conf, --hostname-override=x]
    volumeMounts:
    - {name: conf, mountPath: /var/lib/kube-proxy}
  volumes:
  - name: conf
    configMap: {name: kube-proxy}
`
