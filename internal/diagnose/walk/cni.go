package walk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/redact"
)

// justJoined is the time that a node may wait for a component before the lack of an addon that installs it is a fault.
const justJoined = 10 * time.Second

// noCNI finds a node that waits for a CNI although the cluster has no addon that installs one for its operating system,
// so that the node would never become Ready.
func (w walker) noCNI(n *corev1.Node) *finding {
	message := unconfigured(n)
	os := n.Status.NodeInfo.OperatingSystem
	born := n.CreationTimestamp.Time
	patience := justJoined
	if w.Cluster.Labels["cni"] != "" {
		patience = slowStatus // the cluster requests a CNI, whose installation may be in progress
	}
	young := !born.IsZero() && w.Taken.Sub(born) < patience
	unread := w.notRead("DaemonSets")
	if message != "" {
		if a := w.failedChart(cniCharts); a != nil {
			return a
		}
	}
	if message == "" || young || unread || w.Unreachable != "" || w.installsCNI(os) {
		return nil
	}
	command := "casement addons install " + strings.Join(w.network(os), " ") + " --cluster " + w.Cluster.Name
	if ns := w.Cluster.Namespace; ns != "" && ns != "default" {
		command += " -n " + ns
	}
	return &finding{Step: "cni", At: "Node/" + n.Name, Cause: "CNIMissing",
		Says: fmt.Sprintf("no CNI is installed for %s nodes: %s", os, command),
		Evidence: []string{
			redact.Line(message, maxEvidence), "no DaemonSet for " + os + " nodes has a CNI's directory",
		}, Fix: command, Next: "kubectl get daemonsets -A"}
}

// The names of charts that install a CNI or a cloud provider.
var (
	cniCharts   = regexp.MustCompile(`(?i)calico|tigera|cni|flannel|cilium|antrea|weave|network`)
	cloudCharts = regexp.MustCompile(`(?i)cloud-?provider|cloud-?(node|controller)|ccm`)
)

// failedChart finds a Helm chart of a missing component that could not be installed in the cluster: a template may
// install its addons with HelmChartProxies.
func (w walker) failedChart(brings *regexp.Regexp) *finding {
	i := slices.IndexFunc(w.Charts, func(c facts.Degraded) bool { return brings.MatchString(c.Name + " " + c.Message) })
	if i < 0 {
		return nil
	}
	c := w.Charts[i]
	kind, name, _ := strings.Cut(c.Name, "/")
	return &finding{Step: "addon", At: c.Name, Cause: "ChartNotInstalled",
		Says:     "a Helm chart that the cluster asks for could not be installed, and nodes wait for what it brings",
		Evidence: []string{redact.Line(c.Reason+": "+c.Message, maxEvidence)},
		Fix:      "set what the message names: the chart, its repository, its version or its values",
		Next:     "kubectl describe " + strings.ToLower(kind) + " " + name + " -n " + w.Cluster.Namespace}
}

// unconfigured returns the message of a node that is not Ready because it has no CNI, or "".
func unconfigured(n *corev1.Node) string {
	for _, c := range n.Status.Conditions {
		known, _, _ := cause.Classify(cause.Node, c.Reason, c.Message)
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue && known.Name == "CNIMissing" {
			return c.Message
		}
	}
	return ""
}

// installsCNI reports whether the cluster has an installer of a CNI for nodes of an operating system: a DaemonSet that
// mounts the CNI directory, or an operator that creates such a DaemonSet.
func (w walker) installsCNI(os string) bool {
	return slices.ContainsFunc(w.Workloads.DaemonSets, func(d appsv1.DaemonSet) bool {
		return osOf(&d.Spec.Template.Spec) == os && bringsCNI(&d)
	}) || slices.ContainsFunc(w.Workloads.Deployments, func(d appsv1.Deployment) bool {
		return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
			return strings.Contains(c.Image, "tigera/operator") || strings.Contains(c.Image, "cilium/operator")
		})
	})
}

// network returns the addons that nodes of an operating system lack, by the names in casement addons list.
func (w walker) network(os string) []string {
	out := []string{"calico"}
	if os == "windows" {
		out = append(out, "calico-windows")
	}
	if !slices.ContainsFunc(w.Workloads.DaemonSets,
		func(d appsv1.DaemonSet) bool { return strings.HasPrefix(d.Name, "cloud-node-manager") }) {
		out = append(out, "cloud-provider-azure")
	}
	return out
}
