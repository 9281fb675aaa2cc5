// Package upgrade plans the move of a cluster's Windows nodes to another release of Windows Server: the order of the
// pools, their old and new images, the cost during the move, pods that will have no node, the network's support, and
// the known regressions of the builds; and it writes the manifests of each step.
//
// It plans from given objects, and does not apply or read anything itself. internal/cli imports it.
package upgrade

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/capacity"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/windows"
)

// Plan describes a move to another release of Windows Server. It applies nothing.
type Plan struct {
	Cluster string `json:"cluster"`
	To      string `json:"to"`
	// Blocked are the reasons not to begin; Warnings are facts to know before.
	Blocked  []string `json:"blocked,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Pools are the groups of Windows machines, in the order of their moves.
	Pools []Pool `json:"pools"`
	// Behind are the pods for which no node will be left once every pool has moved, by their owners.
	Behind []Behind `json:"behind,omitempty"`
	// Support has the statements of Kubernetes and of the network's project about the release.
	Support []string `json:"support,omitempty"`
	// Ahead are the known regressions of builds of the new release, which its images may have.
	Ahead []string `json:"ahead,omitempty"`
}

// Pool is a group of Windows machines.
type Pool struct {
	// Kind is MachineDeployment or MachinePool.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// From is the current release of the machines; There is true if it is the new release already.
	From     string `json:"from"`
	There    bool   `json:"there,omitempty"`
	Replicas int    `json:"replicas"`
	// Image is the machines' image, and Next their new image; "" if the user has to name it.
	Image string `json:"image"`
	Next  string `json:"next,omitempty"`
	// Surge is the number of additional machines during the move, and Size their size; Unavailable is the number of
	// missing machines.
	Surge       int    `json:"surge"`
	Unavailable int    `json:"unavailable"`
	Size        string `json:"size"`
	// Cost is the part of the quota that Surge needs.
	Cost string `json:"cost"`
	// Builds are the builds of its nodes with their known regressions.
	Builds []string `json:"builds,omitempty"`
	// Topology is true if a ClusterClass creates the pool.
	Topology bool `json:"topology,omitempty"`
	// File is the name of the step's manifest, or "".
	File string `json:"file,omitempty"`

	template *infrav1.AzureMachineTemplate
	pool     *infrav1.AzureMachinePool
}

// Behind is an owner of pods that no new node can run.
type Behind struct {
	// Owner is KIND/NAMESPACE/NAME, and Pods the number of its pods.
	Owner string   `json:"owner"`
	Pods  int      `json:"pods"`
	Why   []string `json:"why"`
	Fix   string   `json:"fix"`
}

// Input has the inputs of a plan.
type Input struct {
	*facts.Snapshot
	// Templates are the machine templates of MachineDeployments, by name.
	Templates map[string]*infrav1.AzureMachineTemplate
}

// Make returns the plan for moving a cluster to a release.
func Make(in Input, to windows.Release) *Plan {
	p := &Plan{Cluster: in.Cluster.Name, To: to.Name}
	for i := range in.Deployments {
		if pool, ok := in.deployment(&in.Deployments[i], to); ok {
			p.Pools = append(p.Pools, pool)
		}
	}
	for i := range in.Pools {
		if pool, ok := in.pool(&in.Pools[i], to); ok {
			p.Pools = append(p.Pools, pool)
		}
	}
	slices.SortStableFunc(p.Pools, func(a, b Pool) int { // the smallest first, so that a problem affects few machines
		return cmp.Or(cmp.Compare(a.Replicas, b.Replicas), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	step := 0
	for i := range p.Pools {
		pool := &p.Pools[i]
		switch {
		case pool.There:
			continue
		case pool.Next == "":
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s/%s has an image of its own, %s: build one of Windows Server %s and name it in the "+
				"step's manifest", pool.Kind, pool.Name, pool.Image, to.Name))
		}
		if pool.Topology && slices.ContainsFunc(p.Pools[:i], func(o Pool) bool { return o.Topology && o.File != "" }) {
			continue // one variable moves all pools of a class
		}
		step++
		pool.File = fmt.Sprintf("%02d-%s.yaml", step, pool.Name)
	}
	if slices.ContainsFunc(p.Pools, func(o Pool) bool { return o.Topology && !o.There }) {
		p.Warnings = append(p.Warnings, "a ClusterClass makes pools of this cluster: its variable windowsServerVersion moves all of them at once")
	}
	in.support(p, to)
	if in.Unreachable != "" {
		p.Warnings = append(p.Warnings, "the workload cluster was not read, so its nodes' builds and its pods are not known: "+in.Unreachable)
	}
	p.Behind = in.behind(to)
	if len(p.Behind) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the pods of %d owners have no node on Windows Server %s: change them first, or keep a "+
			"pool of the old release", len(p.Behind), to.Name))
	}
	for _, r := range windows.Regressions() {
		if of, ok := windows.ReleaseByBuild(r.From); ok && of.Name == to.Name && slices.Contains(r.Hits, windows.HitsHost) {
			until := "and no fix is known"
			if r.Until != "" {
				until = "before " + r.Until
			}
			p.Ahead = append(p.Ahead, fmt.Sprintf("from %s, %s: %s (%s)", r.From, until, r.Name(), r.Source))
		}
	}
	return p
}

// support adds the support of the release by Kubernetes and the cluster's network.
func (in Input) support(p *Plan, to windows.Release) {
	minor := 0
	if in.ControlPlane != nil {
		if _, err := fmt.Sscanf(in.ControlPlane.Spec.Version, "v1.%d", &minor); err != nil {
			minor = 0
		}
	}
	projects := []string{"Kubernetes"}
	if n, ok := windows.NetworkByLabels(in.Cluster.Labels); ok {
		projects = append(projects, n.Project())
	} else {
		p.Warnings = append(p.Warnings, "the Cluster's labels name no network: whether it supports the release is not known")
	}
	for _, by := range projects {
		s, ok := windows.SupportOf(by, to.Name, minor)
		if !ok {
			p.Warnings = append(p.Warnings, "what "+by+" says of Windows Server "+to.Name+" is not known")
			continue
		}
		p.Support = append(p.Support, s.String())
		if s.Level == windows.Unsupported {
			p.Blocked = append(p.Blocked, s.String())
		}
	}
}

// deployment plans a MachineDeployment; ok is false if it has no Windows machines.
func (in Input) deployment(d *clusterv1.MachineDeployment, to windows.Release) (Pool, bool) {
	t := in.Templates[d.Spec.Template.Spec.InfrastructureRef.Name]
	if t == nil || t.Spec.Template.Spec.OSDisk.OSType != windows.OSWindows {
		return Pool{}, false
	}
	p := Pool{Kind: "MachineDeployment", Name: d.Name, Replicas: replicas(d.Spec.Replicas), template: t, Size: t.Spec.Template.Spec.VMSize,
		Topology: owned(d.Labels)}
	p.images(&t.Spec.Template.Spec, t.Spec.Template.ObjectMeta.Annotations, d.Spec.Template.Spec.Version, to)
	rolling := d.Spec.Rollout.Strategy.RollingUpdate
	p.rolls(rolling.MaxSurge, rolling.MaxUnavailable)
	p.Builds = in.builds(func(m *clusterv1.Machine) bool { return m.Labels[clusterv1.MachineDeploymentNameLabel] == d.Name })
	return p, true
}

// pool plans a MachinePool; ok is false if it has no Windows machines.
func (in Input) pool(m *clusterv1.MachinePool, to windows.Release) (Pool, bool) {
	a := in.AzurePools[m.Spec.Template.Spec.InfrastructureRef.Name]
	if a == nil || a.Spec.Template.OSDisk.OSType != windows.OSWindows {
		return Pool{}, false
	}
	p := Pool{Kind: "MachinePool", Name: m.Name, Replicas: replicas(m.Spec.Replicas), pool: a, Size: a.Spec.Template.VMSize,
		Topology: owned(m.Labels)}
	spec := infrav1.AzureMachineSpec{Image: a.Spec.Template.Image, OSDisk: a.Spec.Template.OSDisk}
	p.images(&spec, a.Annotations, m.Spec.Template.Spec.Version, to)
	var surge, unavailable *intstr.IntOrString
	if r := a.Spec.Strategy.RollingUpdate; r != nil {
		surge, unavailable = r.MaxSurge, r.MaxUnavailable
	}
	p.rolls(surge, unavailable)
	p.Builds = in.builds(func(one *clusterv1.Machine) bool { return one.Labels[clusterv1.MachinePoolNameLabel] == m.Name })
	return p, true
}

func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

func owned(labels map[string]string) bool {
	_, ok := labels[clusterv1.ClusterTopologyOwnedLabel]
	return ok
}

// images sets the current and new release and image of a pool.
func (p *Pool) images(spec *infrav1.AzureMachineSpec, annotations map[string]string, version string, to windows.Release) {
	p.From, p.Image = "unknown", "(none)"
	image, err := capacity.Image(spec, annotations, version)
	if err != nil {
		p.Image = err.Error()
		return
	}
	p.Image = capacity.ImageName(image)
	if on, ok := windows.ParseImage(reference(image)); ok {
		p.From = on.Release.Name
	}
	if p.There = p.From == to.Name; p.There || spec.Image != nil {
		return
	}
	next, err := windows.DefaultImage(version, windows.OSWindows, map[string]string{
		windows.WindowsServerVersionAnnotation: "windows-" + to.Name, windows.RuntimeAnnotation: annotations[windows.RuntimeAnnotation],
	})
	if err == nil {
		p.Next = strings.TrimPrefix(next.Reference(), "/CommunityGalleries/")
	}
}

// reference returns an image in the form for windows.ParseImage.
func reference(i infrav1.Image) string {
	switch {
	case i.ComputeGallery != nil:
		return windows.Image{Gallery: i.ComputeGallery.Gallery, Name: i.ComputeGallery.Name, Version: i.ComputeGallery.Version}.Reference()
	case i.Marketplace != nil:
		m := i.Marketplace
		return windows.Image{Publisher: m.Publisher, Offer: m.Offer, SKU: m.SKU, Version: m.Version}.Reference()
	case i.ID != nil:
		return *i.ID
	}
	return ""
}

// sizeCores matches the number of processors in the name of a VM size.
var sizeCores = regexp.MustCompile(`^Standard_[A-Z]+(\d+)`)

// rolls sets the surge and the unavailable machines of a pool: by default one additional machine and none unavailable,
// as in Cluster API. A percentage is rounded up for the surge, and down for unavailable machines.
func (p *Pool) rolls(surge, unavailable *intstr.IntOrString) {
	n := func(v *intstr.IntOrString, otherwise int, up bool) int {
		if v == nil {
			return otherwise
		}
		got, err := intstr.GetScaledValueFromIntOrPercent(v, p.Replicas, up)
		if err != nil {
			return otherwise
		}
		return got
	}
	p.Surge, p.Unavailable = n(surge, 1, true), n(unavailable, 0, false)
	if p.There || p.Replicas == 0 {
		p.Surge = 0
	}
	p.Surge = min(p.Surge, p.Replicas)
	p.Cost = fmt.Sprintf("%d more %s at a time, until %d machines are replaced", p.Surge, cmp.Or(p.Size, "machines"), p.Replicas)
	if m := sizeCores.FindStringSubmatch(p.Size); m != nil && p.Surge > 0 {
		cores, _ := strconv.Atoi(m[1]) // the match is digits
		addresses := "addresses"
		if p.Surge == 1 {
			addresses = "address"
		}
		p.Cost += fmt.Sprintf(": %d vCPUs of quota, %d %s", cores*p.Surge, p.Surge, addresses)
	}
	switch {
	case p.There:
		p.Cost = "nothing"
	case p.Surge == 0:
		p.Cost = fmt.Sprintf("no more machines, and %d of %d away at a time", p.Unavailable, p.Replicas)
	}
}

// builds returns the Windows builds of the machines' nodes, with their known regressions.
func (in Input) builds(of func(*clusterv1.Machine) bool) []string {
	nodes := map[string]int{}
	for i := range in.Machines {
		if n := in.Nodes[in.Machines[i].Status.NodeRef.Name]; of(&in.Machines[i]) && n != nil {
			nodes[n.Status.NodeInfo.KernelVersion]++
		}
	}
	var out []string
	for build, n := range nodes {
		out = append(out, fmt.Sprintf("%d of %s: %s", n, build, windows.Judge(build, windows.HitsHost)))
	}
	slices.Sort(out)
	return out
}

// behind returns the owners of pods that no node of the new release can run.
func (in Input) behind(to windows.Release) []Behind {
	found := map[string]*Behind{}
	for i := range in.Pods {
		pod := &in.Pods[i]
		n := in.Nodes[pod.Spec.NodeName]
		on := n != nil && n.Status.NodeInfo.OperatingSystem == "windows"
		if !on && pod.Spec.NodeSelector[corev1.LabelOSStable] != "windows" && (pod.Spec.OS == nil || pod.Spec.OS.Name != corev1.Windows) ||
			!pod.DeletionTimestamp.IsZero() || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		why := staysBehind(pod, to)
		if len(why) == 0 {
			continue
		}
		owner := ownerOf(pod)
		if found[owner] == nil {
			found[owner] = &Behind{Owner: owner, Why: why, Fix: fmt.Sprintf("images of %s and a selector for it: "+
				"node.kubernetes.io/windows-build: %s",
				strings.Join(to.Tags, " or "), to.Build)}
		}
		found[owner].Pods++
	}
	var out []Behind
	for _, b := range found {
		out = append(out, *b)
	}
	slices.SortFunc(out, func(a, b Behind) int { return cmp.Compare(a.Owner, b.Owner) })
	return out
}

// ownerOf returns the name of a pod's owner. For a ReplicaSet of a Deployment, it is the Deployment.
func ownerOf(pod *corev1.Pod) string {
	c := metav1.GetControllerOf(pod)
	if c == nil {
		return "Pod/" + pod.Namespace + "/" + pod.Name
	}
	if hash := pod.Labels["pod-template-hash"]; c.Kind == "ReplicaSet" && hash != "" {
		return "Deployment/" + pod.Namespace + "/" + strings.TrimSuffix(c.Name, "-"+hash)
	}
	return c.Kind + "/" + pod.Namespace + "/" + c.Name
}

// staysBehind returns the reasons why a pod cannot run on nodes of a release: its selector or affinity requires another
// build, or a host of the release cannot run one of its images. HostProcess pods use the host's build.
func staysBehind(pod *corev1.Pod, to windows.Release) []string {
	var why []string
	if build, ok := pod.Spec.NodeSelector[corev1.LabelWindowsBuild]; ok && build != to.Build {
		why = append(why, "nodeSelector names build "+build)
	}
	if !admits(pod.Spec.Affinity, to.Build) {
		why = append(why, "nodeAffinity admits no node of build "+to.Build)
	}
	if hostProcess(pod) {
		return why
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if r, ok := windows.ImageRelease(c.Image); ok && !windows.CanRun(to.Build, r.Build) {
			why = append(why, fmt.Sprintf("image %s is of Windows Server %s", c.Image, r.Name))
		}
	}
	return why
}

// admits reports whether a required affinity allows a node with a build, as far as this depends on the build label.
func admits(a *corev1.Affinity, build string) bool {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return len(terms) == 0 || slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(t.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool {
			if e.Key != corev1.LabelWindowsBuild {
				return false
			}
			in := slices.Contains(e.Values, build)
			return e.Operator == corev1.NodeSelectorOpIn && !in || e.Operator == corev1.NodeSelectorOpNotIn && in ||
				e.Operator == corev1.NodeSelectorOpDoesNotExist
		})
	})
}

func hostProcess(pod *corev1.Pod) bool {
	s := pod.Spec.SecurityContext
	return s != nil && s.WindowsOptions != nil && s.WindowsOptions.HostProcess != nil && *s.WindowsOptions.HostProcess
}
