package lint

import (
	"cmp"
	"slices"
	"strings"

	"casement.dev/casement/internal/windows"
)

// Object is one parsed Kubernetes object.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	Root                              Value
	// File is the file that contains the object: "-" for standard input, "" for an object of a cluster.
	File string

	source *document
}

// Stored reports whether the object comes from an API server, which has checked its fields and set its defaults.
func (o *Object) Stored() bool { return o.source == nil }

// String names the object as KIND/NAME: Deployment/web.
func (o *Object) String() string {
	if o.Namespace != "" {
		return o.Kind + "/" + o.Namespace + "/" + o.Name
	}
	return o.Kind + "/" + o.Name
}

// OfClusterAPI reports whether the object belongs to Cluster API or to one of its providers; other projects have kinds
// with the same names.
func (o *Object) OfClusterAPI() bool {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return OfClusterAPI(group)
}

// OfClusterAPI reports whether an API group belongs to Cluster API or to one of its providers.
func OfClusterAPI(group string) bool {
	return group == "cluster.x-k8s.io" || strings.HasSuffix(group, ".cluster.x-k8s.io")
}

// Level is the strength of the evidence that a pod is meant for Windows.
type Level int

// Levels, from no evidence to the field that the API server acts on.
const (
	Unknown Level = iota
	Linux
	// Image means that its images are for Windows.
	Image
	// Placed means that a selector, an affinity or hostProcess restricts it to Windows nodes.
	Placed
	// OS means that spec.os.name is windows.
	OS
)

// Pod is a pod specification with its metadata, in an object of any kind.
type Pod struct {
	Object     *Object
	Meta, Spec Value
	Level      Level

	// elsewhere is true if a RuntimeClass or a Node of the set places the pod on Windows.
	elsewhere  bool
	containers []Container
	// hostProcess is the cached result of HostProcess, which rules need for each container; nil before the set has its index.
	hostProcess *bool
	// volumes are the volumes by name.
	volumes map[string]Value
}

// Volume returns the volume with a name; absent if there is none.
func (p *Pod) Volume(name string) Value {
	if v, ok := p.volumes[name]; ok {
		return v
	}
	return p.Spec.At("volumes", name) // a list has no such key
}

// Container is one container of a pod.
type Container struct {
	Value
	// List is the name of the list: containers, initContainers or ephemeralContainers.
	List string
	Pod  *Pod
}

// podPaths are the paths of the parents of pod specs, by kind.
var podPaths = map[string][]string{
	"Pod": {}, "PodTemplate": {"template"}, "Deployment": {"spec", "template"}, "StatefulSet": {"spec", "template"},
	"DaemonSet":  {"spec", "template"},
	"ReplicaSet": {"spec", "template"}, "ReplicationController": {"spec", "template"}, "Job": {"spec", "template"},
	"CronJob": {"spec", "jobTemplate", "spec", "template"},
}

// pod returns the pod specification in an object, or nil.
func (o *Object) pod(extra map[string][]string) *Pod {
	path, ok := podPaths[o.Kind]
	if !ok {
		if path, ok = extra[o.Kind]; !ok {
			return nil
		}
	}
	at := o.Root.At(path...)
	if !at.At("spec").IsMap() {
		return nil
	}
	p := &Pod{Object: o, Meta: at.At("metadata"), Spec: at.At("spec")}
	p.Level = p.level()
	return p
}

// Windows reports whether there is any evidence that the pod is meant for Windows.
func (p *Pod) Windows() bool { return p.Level >= Image }

// Containers returns all containers of the pod, including init and ephemeral ones.
func (p *Pod) Containers() []Container {
	if p.containers == nil {
		for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
			for _, c := range p.Spec.At(list).Items() {
				p.containers = append(p.containers, Container{Value: c, List: list, Pod: p})
			}
		}
	}
	return slices.Clip(p.containers)
}

// WindowsOption returns the effective value of a field of windowsOptions: the container's, otherwise the pod's. Source:
// kubernetes/kubernetes pkg/securitycontext/util.go.
func (c Container) WindowsOption(field string) Value {
	own := c.At("securityContext", "windowsOptions", field)
	if own.Exists() {
		return own
	}
	if pod := c.Pod.Spec.At("securityContext", "windowsOptions", field); pod.Exists() {
		return pod
	}
	return own
}

// RunAsNonRoot returns the effective value of runAsNonRoot: the container's, otherwise the pod's.
func (c Container) RunAsNonRoot() Value {
	if own := c.At("securityContext", "runAsNonRoot"); own.Exists() {
		return own
	}
	return c.Pod.Spec.At("securityContext", "runAsNonRoot")
}

// HostProcess reports whether any container is a HostProcess container.
func (p *Pod) HostProcess() bool {
	if p.hostProcess != nil {
		return *p.hostProcess
	}
	if p.Spec.At("securityContext", "windowsOptions", "hostProcess").True() {
		return true
	}
	return slices.ContainsFunc(p.Containers(), func(c Container) bool { return c.WindowsOption("hostProcess").True() })
}

// OSName returns spec.os.name.
func (p *Pod) OSName() string { return p.Spec.At("os", "name").Str() }

// Labels of nodes that determine the nodes for a pod.
const (
	LabelOS           = "kubernetes.io/os"
	LabelOSBeta       = "beta.kubernetes.io/os"
	LabelWindowsBuild = "node.kubernetes.io/windows-build"
)

// Placed reports whether a constraint restricts the pod to Windows nodes.
func (p *Pod) Placed() bool { return p.elsewhere || p.placement() == Placed }

// placement returns the OS to which the scheduler's constraints restrict the pod, or Unknown.
func (p *Pod) placement() Level {
	selector := p.Spec.At("nodeSelector")
	placed := Unknown
	for _, key := range []string{LabelOS, LabelOSBeta} {
		switch os := selector.At(key).Str(); {
		case strings.EqualFold(os, "windows"):
			placed = Placed
		case os != "" && placed == Unknown:
			placed = Linux
		}
	}
	if placed == Unknown && (selector.At(LabelWindowsBuild).Exists() || p.HostProcess()) {
		placed = Placed
	}
	if placed == Unknown {
		placed = p.affinity()
	}
	return placed
}

// level returns the strongest evidence. It examines the placement first, because the scheduler enforces it.
func (p *Pod) level() Level {
	placed := p.placement()
	switch os := p.OSName(); {
	case placed != Unknown && os != "" && (os == "windows") != (placed == Placed):
		return placed // rule WIN003 reports the contradiction
	case os == "windows":
		return OS
	case placed != Unknown:
		return placed
	case os != "":
		return Linux
	}
	if slices.ContainsFunc(p.Containers(), func(c Container) bool { return windows.IsWindowsImage(c.At("image").Str()) }) {
		return Image
	}
	return Unknown
}

// affinity returns the OS that every required term of the node affinity requires.
func (p *Pod) affinity() Level {
	terms := p.Spec.At("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Items()
	found := Unknown
	for _, term := range terms {
		os := Unknown
		for _, e := range term.At("matchExpressions").Items() {
			if key := e.At("key").Str(); key == LabelOS || key == LabelOSBeta {
				os = cmp.Or(only(e.At("operator").Str(), e.At("values").Strings()), os)
			}
		}
		if os == Unknown || found != Unknown && found != os {
			return Unknown
		}
		found = os
	}
	return found
}

// only returns the only OS that an expression permits, or Unknown. Nodes have Linux or Windows.
func only(operator string, values []string) Level {
	if len(values) != 1 || operator != "In" && operator != "NotIn" {
		return Unknown
	}
	if (operator == "In") == strings.EqualFold(values[0], "windows") {
		return Placed
	}
	return Linux
}
