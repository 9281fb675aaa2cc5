package life

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

func (l *life) create(flavor string) {
	manifest := l.p.Run(nil, "generate", "cluster", "demo", "--flavor", flavor, "--kubernetes-version", older,
		"--worker-machine-count", "2")
	if l.spot {
		manifest = l.evictable(manifest)
	}
	l.p.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	l.p.Run(nil, "wait", "demo", "--timeout", "4m")
	l.kubectl = l.p.Workload("demo")
	l.serve(l.release)
	l.until("the service", func() string { return l.missingPods(l.release) })
	address := ""
	l.until("the service's address", func() string {
		address = l.kubectl("get", "service", "web", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if address == "" {
			return "no address"
		}
		return ""
	})
	l.probe = startProbe("http://" + address + "/")
	l.until("the first answer", func() string {
		if asked, failed, why := l.probe.take(); asked == 0 || failed > 0 {
			return "no answer: " + why
		}
		return ""
	})
}

// serve runs the workload on the nodes of a Windows release.
func (l *life) serve(release int) {
	text := strings.NewReplacer("RELEASE", builds[release].release, "BUILD", builds[release].build).Replace(workload)
	l.p.Run([]byte(text), "kubectl", "--kubeconfig", l.p.Kubeconfig("demo"), "apply", "-f", "-")
}

func (l *life) missingPods(release int) string {
	if got := l.kubectl("get", "deployment", "web-"+builds[release].release, "-o", "jsonpath={.status.readyReplicas}"); got != "2" {
		return got + " of 2 pods are ready"
	}
	return ""
}

func (l *life) scale(n int) {
	l.resize(n)
	// The wait must not accept the status from before the change.
	l.p.Run(nil, "wait", "demo", "--timeout", "4m")
	if missing := l.missing(true, n, anyNode); missing != "" {
		l.t.Errorf("casement wait is satisfied right after a scale to %d: %s", n, missing)
	}
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.settled()
}

// settled waits until Cluster API has nothing left to do in the group.
func (l *life) settled() {
	kind, name, selector := l.group()
	l.until("Machines", func() string {
		var list struct {
			Items []struct {
				Metadata struct{ Name, DeletionTimestamp string }
				Status   struct{ Phase string }
			}
		}
		if err := json.Unmarshal([]byte(l.management("get", "machines", "-l", selector, "-o", "json")), &list); err != nil {
			l.t.Fatal(err)
		}
		for _, m := range list.Items {
			if m.Status.Phase != "Running" || m.Metadata.DeletionTimestamp != "" {
				return fmt.Sprintf("Machine %s is %s", m.Metadata.Name, m.Status.Phase)
			}
		}
		if want := l.management("get", kind, name, "-o", "jsonpath={.spec.replicas}"); want != fmt.Sprint(len(list.Items)) {
			return fmt.Sprintf("%d Machines, not %s", len(list.Items), want)
		}
		return ""
	})
}

func (l *life) upgradeKubernetes() {
	patch := func(kind, name, path string) {
		l.management("patch", kind, name, "--type", "merge", "-p", fmt.Sprintf(path, newer))
	}
	if l.class {
		patch("cluster", "demo", `{"spec":{"topology":{"version":"%s"}}}`)
	} else {
		patch("kubeadmcontrolplane", "demo-control-plane", `{"spec":{"version":"%s"}}`)
	}
	l.until("control plane", func() string {
		l.checkSkew()
		return l.missing(false, 5, func(n node) bool {
			_, control := n.Metadata.Labels["node-role.kubernetes.io/control-plane"]
			return !control || n.Status.NodeInfo.KubeletVersion == newer
		})
	})
	if !l.class { // the workers of a class follow without a further change
		kind, windows, _ := l.group()
		for _, name := range []string{strings.TrimSuffix(windows, "win") + "0", windows} {
			patch(kind, name, `{"spec":{"template":{"spec":{"version":"%s"}}}}`)
		}
	}
	l.until("all nodes", func() string {
		l.checkSkew()
		return l.missing(false, 5, func(n node) bool { return n.Status.NodeInfo.KubeletVersion == newer })
	})
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.settled()
}

// checkSkew checks that no worker's kubelet is newer than the oldest API server. Control plane
// machines are not checked, because each has its own API server, of the version of its kubelet.
func (l *life) checkSkew() {
	l.t.Helper()
	const control = "cluster.x-k8s.io/control-plane"
	servers := strings.Fields(l.management("get", "machines", "-l", control, "-o", "jsonpath={.items[*].spec.version}"))
	names := strings.Fields(l.management("get", "machines", "-l", control, "-o", "jsonpath={.items[*].metadata.name}"))
	for _, n := range l.nodes(false) {
		if slices.Contains(names, n.Metadata.Name) { // the node gets its label after it has joined
			continue
		}
		if oldest := slices.Min(servers); len(servers) > 0 && minor(n.Status.NodeInfo.KubeletVersion) > minor(oldest) {
			l.t.Errorf("the kubelet of %s is %s, and an API server %s", n.Metadata.Name, n.Status.NodeInfo.KubeletVersion, oldest)
		}
	}
}

// minor returns the minor version, 35 for v1.35.2; all minor versions here have two digits.
func minor(version string) string {
	parts := strings.Split(version, ".")
	return parts[min(1, len(parts)-1)]
}

// checkPlaces checks that each running pod of the workload is on a node of its Windows build.
func (l *life) checkPlaces() {
	l.t.Helper()
	out, err := l.p.Try(nil, "kubectl", "--kubeconfig", l.p.Kubeconfig("demo"), "get", "pods", "-l", "app=web", "-o", "json")
	if err != nil {
		return // the API server is unreachable while its machine is replaced
	}
	var list struct {
		Items []struct {
			Metadata struct {
				Name, DeletionTimestamp string
				Labels                  map[string]string
			}
			Spec   struct{ NodeName string }
			Status struct{ Phase, Message string }
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		l.t.Fatal(err)
	}
	nodes := l.nodes(true)
	for _, pod := range list.Items {
		// The kubelet reports a deleted pod as Failed, between the end of its containers and the end of its object.
		if pod.Status.Phase == "Failed" && pod.Metadata.DeletionTimestamp == "" {
			l.t.Errorf("pod %s failed: %s", pod.Metadata.Name, pod.Status.Message)
		}
		for _, n := range nodes {
			if n.Metadata.Name == pod.Spec.NodeName &&
				n.Metadata.Labels["node.kubernetes.io/windows-build"] != buildOf(pod.Metadata.Labels["release"]) {
				l.t.Errorf("pod %s of Windows %s is on node %s, which is %s", pod.Metadata.Name,
					pod.Metadata.Labels["release"], n.Metadata.Name, n.Status.NodeInfo.KernelVersion)
			}
		}
	}
}

func buildOf(release string) string {
	for _, b := range builds {
		if b.release == release {
			return b.build
		}
	}
	return "no build"
}

// upgradeWindows upgrades the nodes to the next Windows release. The workload for that release is
// applied while they change; its pods run when they can.
func (l *life) upgradeWindows() {
	was, next := builds[l.release], builds[l.release+1]
	switch {
	case l.class:
		l.topology(func(topology map[string]any) {
			l.named(topology["variables"], "windowsServerVersion")["value"] = "windows-" + next.release
		})
	case l.pools:
		l.management("annotate", "azuremachinepool", "demo-mp-win", "windowsServerVersion=windows-"+next.release, "--overwrite")
		l.until("the pool to notice", func() string { // until then the pods of the next release really fit nowhere
			updated := l.management("get", "azuremachinepool", "demo-mp-win", "-o",
				`jsonpath={.status.conditions[?(@.type=="ScaleSetModelUpdated")].status}`)
			if updated == "True" {
				return "ScaleSetModelUpdated is True"
			}
			return ""
		})
	default:
		template := l.management("get", "azuremachinetemplate", "demo-md-win", "-o", "json")
		var object map[string]any
		if err := json.Unmarshal([]byte(template), &object); err != nil {
			l.t.Fatal(err)
		}
		object["metadata"] = map[string]any{"name": "demo-md-win-" + next.release, "namespace": "default"}
		data, err := json.Marshal(object)
		if err != nil {
			l.t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "windows-"+was.release, "windows-"+next.release)
		l.p.Run([]byte(text), "kubectl", "apply", "-f", "-")
		l.management("patch", "machinedeployment", "demo-md-win", "--type", "merge", "-p",
			`{"spec":{"template":{"spec":{"infrastructureRef":{"name":"demo-md-win-`+next.release+`"}}}}}`)
	}
	l.serve(l.release + 1)
	l.until("Windows nodes", func() string {
		l.checkPlaces()
		return l.missing(true, 2, func(n node) bool { return strings.HasPrefix(n.Status.NodeInfo.KernelVersion, next.build) })
	})
	l.release++
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.kubectl("delete", "deployment", "web-"+was.release)
	l.settled()
}

// changeExtensions adds an extension to the pool, which replaces every node.
func (l *life) changeExtensions() {
	var old []string
	for _, n := range l.nodes(true) {
		old = append(old, n.Metadata.Name)
	}
	l.management("patch", "azuremachinepool", "demo-mp-win", "--type", "merge", "-p", `{"spec":{"template":{"vmExtensions":[{`+
		`"name":"CustomScriptExtension","publisher":"Microsoft.Compute","version":"1.10",`+
		`"settings":{"commandToExecute":"powershell.exe -Command Get-Date"}}]}}}`)
	l.until("new nodes", func() string {
		return l.missing(true, len(old), func(n node) bool { return !slices.Contains(old, n.Metadata.Name) })
	})
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.settled()
}

func (l *life) delete() {
	l.probe.end() // the target of the requests is deleted too
	l.management("delete", "cluster", "demo", "--wait=false")
	l.p.Run(nil, "wait", "demo", "--for", "deleted", "--timeout", "3m")
	var left struct{ Value []struct{ ID string } }
	l.p.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		l.t.Errorf("the local Azure still holds %v", left.Value)
	}
	if left := l.p.Processes(filepath.Join(l.p.Home, "vms")); len(left) > 0 {
		l.t.Errorf("processes of the cluster's machines are left: %v", left)
	}
}
