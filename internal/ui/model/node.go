package model

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/timeline"
	"casement.dev/casement/internal/redact"
)

// node is a row of a node with its pods.
type node struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	// Machine is the key of its machine's row, if it is known.
	Machine string `json:"machine,omitempty"`
	OS      string `json:"os"`
	// Build distinguishes releases: it is the kernel of Windows, otherwise the image.
	Build   string `json:"build"`
	Image   string `json:"image"`
	Kubelet string `json:"kubelet"`
	Runtime string `json:"runtime"`
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Pods    tally  `json:"pods"`
}

// pod is a row of a pod.
type pod struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"ns"`
	Name      string `json:"name"`
	// Owner is the namespace of the cluster's objects.
	Owner string `json:"owner"`
	// Workload is the kind and name of the object that created the pod; "" if there is none.
	Workload string `json:"workload,omitempty"`
	Node     string `json:"node,omitempty"`
	State    State  `json:"state"`
	Reason   string `json:"reason"`
	Message  string `json:"message,omitempty"`
}

// maxPods is the maximum number of pods of a cluster with their own rows; pods that are not running take precedence.
const maxPods = 200

func (b *builder) nodes(c *Cluster) {
	s := c.Snapshot
	machines := map[string]string{}
	for i := range s.Machines {
		m := &s.Machines[i]
		machines[m.Status.NodeRef.Name] = objectKey("Machine", m.Namespace, m.Name)
	}
	prefix := s.Cluster.Namespace + "/" + s.Cluster.Name + "/"
	pods, shown := map[string]tally{}, map[string]pod{}
	well := map[string]pod{}
	for i := range s.Pods {
		p := &s.Pods[i]
		state, reason, message := podState(p, b.in.Now)
		if pods[p.Spec.NodeName] == nil {
			pods[p.Spec.NodeName] = tally{}
		}
		pods[p.Spec.NodeName][state]++
		rows := shown
		if state == Good {
			rows = well
		}
		if len(rows) == maxPods {
			continue
		}
		rows["pod/"+prefix+p.Namespace+"/"+p.Name] = pod{Cluster: s.Cluster.Name, Owner: s.Cluster.Namespace,
			Namespace: p.Namespace, Name: p.Name, Workload: workloadOf(p), Node: p.Spec.NodeName,
			State: state, Reason: redact.Text(reason), Message: redact.Line(message, 300)}
	}
	for key, row := range shown {
		b.put(key, row)
	}
	for _, key := range slices.Sorted(maps.Keys(well)) {
		if len(shown) == maxPods {
			break
		}
		shown[key] = well[key]
		b.put(key, well[key])
	}
	for name, n := range s.Nodes {
		info := n.Status.NodeInfo
		row := node{Cluster: s.Cluster.Name, Name: name, Machine: machines[name], OS: info.OperatingSystem,
			Build: info.OSImage, Image: info.OSImage,
			Kubelet: info.KubeletVersion, Runtime: info.ContainerRuntimeVersion, Pods: pods[name]}
		if info.OperatingSystem == string(corev1.Windows) {
			row.Build = info.KernelVersion
		}
		row.State, row.Reason = nodeState(n, b.in.Now)
		b.put("node/"+prefix+name, row)
	}
}

// workloadOf returns the name of the object that created a pod; for a ReplicaSet of a Deployment, the Deployment's.
func workloadOf(p *corev1.Pod) string {
	by := metav1.GetControllerOfNoCopy(p)
	if by == nil {
		return ""
	}
	hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if name, of := strings.CutSuffix(by.Name, "-"+hash); of && hash != "" && by.Kind == "ReplicaSet" {
		return "Deployment " + name
	}
	return by.Kind + " " + by.Name
}

func nodeState(n *corev1.Node, now time.Time) (State, string) {
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			return Good, ""
		}
		if now.Sub(n.CreationTimestamp.Time) < patience/2 {
			return Waiting, c.Reason
		}
		return Bad, c.Reason
	}
	return Waiting, "NoStatus"
}

// podState returns the state of a pod and its reason.
func podState(p *corev1.Pod, now time.Time) (State, string, string) {
	switch {
	case p.DeletionTimestamp != nil:
		return Leaving, "Terminating", ""
	case p.Status.Phase == corev1.PodSucceeded:
		return Good, "", ""
	case p.Status.Phase == corev1.PodFailed:
		return Bad, "Failed", p.Status.Reason + " " + p.Status.Message
	}
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return Bad, w.Reason, w.Message
		}
	}
	late := now.Sub(p.CreationTimestamp.Time) > patience/2
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return Good, "", ""
		}
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && late {
			return Bad, c.Reason, c.Message
		}
	}
	if late {
		return Bad, "NotReady", ""
	}
	return Waiting, "Starting", ""
}

// boot is a row of a machine's boot, up to its first pod.
type boot struct {
	Cluster string `json:"cluster"`
	Machine string `json:"machine"`
	Name    string `json:"name"`
	State   State  `json:"state"`
	// At is the start of the boot, in seconds since 1970.
	At      int64    `json:"at"`
	Stages  []stage  `json:"stages"`
	Missing []string `json:"missing,omitempty"`
}

// stage is the end of a stage of a boot, in seconds since the request.
type stage struct {
	Name  string  `json:"name"`
	After float64 `json:"after"`
}

// progress is the number of completed stages of a machine's boot.
type progress struct {
	Done int    `json:"done"`
	Of   int    `json:"of"`
	Now  string `json:"now,omitempty"`
}

// fleet summarises the durations of the stages of the boots of a cluster's machines, with advice on shortening them.
type fleet struct {
	Cluster string       `json:"cluster"`
	Stages  []fleetStage `json:"stages"`
	Advice  []string     `json:"advice,omitempty"`
}

// fleetStage is the duration of a stage, in seconds, over the machines that have passed it.
type fleetStage struct {
	Name     string  `json:"name"`
	Machines int     `json:"machines"`
	Median   float64 `json:"median"`
	Slowest  float64 `json:"slowest"`
	By       string  `json:"by"`
}

func (b *builder) boots(c *Cluster) {
	whole := timeline.OfFleet(c.Snapshot)
	lines := map[string]timeline.Timeline{}
	for _, line := range whole.Machines {
		lines[line.Machine] = line
	}
	if len(whole.Stages) > 0 {
		row := fleet{Cluster: c.Snapshot.Cluster.Name}
		for _, s := range whole.Stages {
			row.Stages = append(row.Stages, fleetStage{s.Name, s.Machines, s.Median, s.Slowest, s.By})
		}
		for _, a := range whole.Advice {
			row.Advice = append(row.Advice, a.Text())
		}
		b.put("fleet/"+c.Snapshot.Cluster.Namespace+"/"+row.Cluster, row)
	}
	for i := range c.Snapshot.Machines {
		m := &c.Snapshot.Machines[i]
		t, ok := lines[m.Name]
		if !ok {
			t = timeline.Of(c.Snapshot, m)
		}
		row := boot{Cluster: c.Snapshot.Cluster.Name, Machine: objectKey("Machine", m.Namespace, m.Name), Name: m.Name,
			State: b.state(c, m), At: m.CreationTimestamp.Unix(), Missing: t.Missing}
		for _, s := range t.Stages {
			row.Stages = append(row.Stages, stage{Name: s.Name, After: math.Max(0, s.After)})
		}
		b.put("boot/"+m.Namespace+"/"+m.Name, row)
	}
}

// progressOf returns the number of completed stages of a machine's boot. The last stage, a first pod, does not count as
// part of the boot.
func progressOf(c *Cluster, m *clusterv1.Machine) progress {
	t := timeline.Of(c.Snapshot, m)
	p := progress{Done: len(t.Stages), Of: len(t.Stages) + len(t.Missing)}
	if p.Done > 0 {
		p.Now = t.Stages[p.Done-1].Name
	}
	return p
}
