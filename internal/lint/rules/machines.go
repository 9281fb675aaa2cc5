package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/kind"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// machines are the machines that one object creates, with the objects in the set that it refers to.
type machines struct {
	// owner is a MachineDeployment, MachineSet, MachinePool, Machine or control plane; it is the infrastructure object
	// itself if nothing in the set refers to it.
	owner *lint.Object
	// infra and config are nil if they are not in the set.
	infra, config *lint.Object
	cluster       *lint.Object
	// version is spec.version, otherwise the control plane's version; absent if unknown.
	version lint.Value
}

// owners are the kinds that create machines, with the path of the machine's spec.
var owners = kind.Makers()

// azureMachines are the kinds of infrastructure, with the path of the VM's spec.
var azureMachines = kind.VMs(true)

// machineKinds are all kinds that groups examines, in the usual order of manifests.
var machineKinds = namesOf(kind.Matching(func(k kind.Kind) bool { return k.Group != kind.Infrastructure || k.VM != nil }))

func namesOf(kinds []kind.Kind) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

// ofKind returns the Cluster API objects of some kinds.
func ofKind(s *lint.Set, kinds ...string) []*lint.Object {
	var out []*lint.Object
	for _, o := range s.Kind(kinds...) {
		if o.OfClusterAPI() {
			out = append(out, o)
		}
	}
	return out
}

// groups returns the machines of a set.
func groups(s *lint.Set) []machines {
	objects := map[string]*lint.Object{}
	key := func(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }
	controlPlanes := map[string]*lint.Object{} // by name of the cluster
	var owning, infra []*lint.Object
	for _, o := range ofKind(s, machineKinds...) {
		objects[key(o.Kind, o.Namespace, o.Name)] = o
		if owners[o.Kind] != nil {
			owning = append(owning, o)
		}
		if azureMachines[o.Kind] != nil {
			infra = append(infra, o)
		}
	}
	refer := func(from *lint.Object, ref lint.Value) *lint.Object {
		return objects[key(ref.At("kind").Str(), cmp.Or(ref.At("namespace").Str(), from.Namespace), ref.At("name").Str())]
	}
	for _, o := range objects {
		if ref := o.Root.At("spec", "controlPlaneRef"); o.Kind == "Cluster" && ref.Exists() {
			controlPlanes[key("", o.Namespace, o.Name)] = refer(o, ref)
		}
	}
	var out []machines
	referred := map[*lint.Object]bool{}
	for _, o := range owning {
		m := machines{owner: o}
		spec := o.Root.At(owners[o.Kind]...)
		ref := spec.At("infrastructureRef")
		if o.Kind == "KubeadmControlPlane" {
			m.config, m.version = o, spec.At("version")
			for _, path := range [][]string{{"machineTemplate", "infrastructureRef"}, {"machineTemplate", "spec", "infrastructureRef"},
				{"infrastructureTemplate"}} {
				if v := spec.At(path...); v.Exists() {
					ref = v
				}
			}
			for at, plane := range controlPlanes {
				if plane == o {
					m.cluster = objects["Cluster"+at]
				}
			}
		} else {
			m.config, m.version = refer(o, spec.At("bootstrap", "configRef")), spec.At("version")
			name := cmp.Or(o.Root.At("spec", "clusterName").Str(), spec.At("clusterName").Str())
			m.cluster = objects[key("Cluster", o.Namespace, name)]
			if plane := controlPlanes[key("", o.Namespace, name)]; !m.version.Exists() && plane != nil {
				m.version = plane.Root.At("spec", "version")
			}
		}
		m.infra = refer(o, ref)
		referred[m.infra] = true
		out = append(out, m)
	}
	for _, o := range infra {
		if !referred[o] {
			out = append(out, machines{owner: o, infra: o})
		}
	}
	return out
}

// vm returns the specification of the virtual machines, absent if it is not in the set.
func (m machines) vm() lint.Value {
	if m.infra == nil {
		return lint.Value{}
	}
	return m.infra.Root.At(azureMachines[m.infra.Kind]...)
}

// windows reports whether the machines have Windows.
func (m machines) windows() bool {
	return m.vm().At("osDisk", "osType").Str() == "Windows" || m.managed() && m.vm().At("osType").Str() == "Windows"
}

// docker reports, by their annotation or image, whether the machines run Docker, which has no HostProcess containers.
func (m machines) docker() bool {
	image := m.vm().At("image")
	return m.annotation(windows.RuntimeAnnotation).Str() == "dockershim" || strings.Contains(image.At("marketplace", "sku").Str()+
		image.At("computeGallery", "name").Str(), "docker")
}

// managed reports whether Azure Kubernetes Service manages the machines and their network.
func (m machines) managed() bool { return m.infra != nil && m.infra.Kind == "AzureManagedMachinePool" }

// kubeadm returns the kubeadm configuration of the machines' bootstrap.
func (m machines) kubeadm() lint.Value {
	if m.config == nil {
		return lint.Value{}
	}
	switch m.config.Kind {
	case "KubeadmConfigTemplate":
		return m.config.Root.At("spec", "template", "spec")
	case "KubeadmConfig":
		return m.config.Root.At("spec")
	case "KubeadmControlPlane":
		return m.config.Root.At("spec", "kubeadmConfigSpec")
	}
	return lint.Value{}
}

// target returns the pass's target with the release of the machines.
func (m machines) target(t lint.Target) lint.Target {
	var minor, patch int
	if n, _ := fmt.Sscanf(strings.TrimPrefix(m.version.Str(), "v"), "1.%d.%d", &minor, &patch); n == 2 {
		t.Minor, t.Patch = minor, &patch
	}
	return t
}

// annotation returns an annotation of the infrastructure object or of its template.
func (m machines) annotation(key string) lint.Value {
	if m.infra == nil {
		return lint.Value{}
	}
	own := m.infra.Root.At("metadata", "annotations", key)
	if inner := m.infra.Root.At("spec", "template", "metadata", "annotations", key); inner.Exists() || !own.Exists() &&
		m.infra.Kind == "AzureMachineTemplate" {
		return inner
	}
	return own
}

// eachWindows runs check for the Windows machines, once for each infrastructure object.
func eachWindows(check func(p *lint.Pass, m machines)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		seen := map[*lint.Object]bool{}
		for _, m := range groups(p.Set) {
			if m.windows() && !seen[m.infra] {
				seen[m.infra] = true
				check(p, m)
			}
		}
	}
}

// eachBootstrap runs check for the kubeadm configurations of Windows machines.
func eachBootstrap(check func(p *lint.Pass, m machines, k lint.Value)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		seen := map[*lint.Object]bool{}
		for _, m := range groups(p.Set) {
			if k := m.kubeadm(); m.windows() && k.Exists() && !seen[m.config] && m.config.Kind != "KubeadmControlPlane" {
				seen[m.config] = true
				check(p, m, k)
			}
		}
	}
}

// arg is an entry of extraArgs.
type arg struct {
	name, value string
	at          lint.Value
	// listed is true for the form of v1beta2, a list of names and values.
	listed bool
}

// drop returns the fix that removes the flag; --fix makes it only in the older form, a map.
func (a arg) drop(text string) lint.Fix {
	if a.listed {
		return say(text)
	}
	return safe(text, lint.Delete(a.at))
}

// flags returns the entries of extraArgs in either form.
func flags(args lint.Value) []arg {
	var out []arg
	for _, f := range args.Fields() {
		out = append(out, arg{f.Key, f.Value.Str(), f.Value, false})
	}
	for _, item := range args.Items() {
		out = append(out, arg{item.At("name").Str(), item.At("value").Str(), item.At("value"), true})
	}
	return out
}

// named returns the flag with a name.
func named(all []arg, name string) (arg, bool) {
	i := slices.IndexFunc(all, func(f arg) bool { return f.name == name })
	if i < 0 {
		return arg{}, false
	}
	return all[i], true
}

// kubeletFlags returns the kubelet's flags on machines that join.
func kubeletFlags(k lint.Value) []arg {
	return flags(k.At("joinConfiguration", "nodeRegistration", "kubeletExtraArgs"))
}

// windowsMachines reports whether a set has Windows machines, or pods for them.
func windowsMachines(s *lint.Set) bool {
	return slices.ContainsFunc(s.Pods, (*lint.Pod).Windows) || slices.ContainsFunc(groups(s), machines.windows)
}

// cluster returns a Cluster for the examples, with lines of its spec.clusterNetwork.
func cluster(spec string) string {
	return "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: demo\n  labels:\n    windows: enabled\n" +
		"    cni: calico\n    csi-proxy: enabled\nspec:\n  clusterNetwork:\n" + spec + "---\n"
}

func windowsTemplate(lines string) string {
	return "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureMachineTemplate\nmetadata:\n  name: win\nspec:\n" +
		"  template:\n    metadata:\n      annotations:\n        windowsServerVersion: windows-2022\n    spec:\n      osDisk:\n" +
		"        osType: Windows\n" + lines
}

// workers returns a MachineDeployment of Windows machines with a version and lines of the
// kubeadm configuration.
func workers(version, lines string) string {
	return windowsTemplate("") + "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: win\n" +
		"spec:\n  clusterName: demo\n  template:\n    spec:\n      clusterName: demo\n      version: " + version + `
      bootstrap:
        configRef:
          kind: KubeadmConfigTemplate
          name: win
      infrastructureRef:
        kind: AzureMachineTemplate
        name: win
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata:
  name: win
spec:
  template:
    spec:
` + indent(lines, 6)
}

func indent(text string, by int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Repeat(" ", by) + line)
	}
	return out.String()
}

// kubelet returns a kubeadm configuration with kubelet flags.
func kubelet(args ...string) string {
	return "joinConfiguration:\n  nodeRegistration:\n    kubeletExtraArgs:\n      " + strings.Join(args, "\n      ") + "\n"
}
