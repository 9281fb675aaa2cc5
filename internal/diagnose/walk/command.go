package walk

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/kind"
)

// runnable completes a command so that the user can run it: a command about an object of the workload cluster gets the
// kubeconfig, because the management cluster would report NotFound; placeholders in capitals are replaced by names.
func (w walker) runnable(a *finding, text string) string {
	text = w.filled(a, w.classed(text))
	if !strings.HasPrefix(text, "kubectl ") || managed(a.At) && !strings.Contains(text, " -A") || w.Cluster == nil || w.Cluster.Name == "" {
		return text
	}
	return w.kubeconfig() + " && kubectl --kubeconfig " + w.Cluster.Name + ".kubeconfig " + strings.TrimPrefix(text, "kubectl ")
}

// ofTemplates matches a text about a change of a template.
var ofTemplates = regexp.MustCompile(`(?i)template`)

// classed adds to a fix that changes a template the ClusterClass that makes the template, because Cluster API undoes
// changes of the template itself.
func (w walker) classed(text string) string {
	if w.Cluster == nil || !w.Cluster.Spec.Topology.IsDefined() || !ofTemplates.MatchString(text) || strings.HasPrefix(text, "kubectl ") {
		return text
	}
	t := &w.Cluster.Spec.Topology
	var variables []string
	for i := range t.Variables {
		variables = append(variables, t.Variables[i].Name)
	}
	where := "; a ClusterClass makes the templates of this cluster, so change it there: ClusterClass " + cmp.Or(t.ClassRef.Namespace,
		w.Cluster.Namespace) + "/" + t.ClassRef.Name + ", its templates and patches"
	if len(variables) > 0 {
		where += ", or spec.topology.variables of the Cluster (" + strings.Join(variables, ", ") + ")"
	}
	return strings.ReplaceAll(text, cause.AnotherTemplate, "") + where
}

// kubeconfig returns the command that writes the workload cluster's kubeconfig.
func (w walker) kubeconfig() string {
	return "casement get kubeconfig " + w.Cluster.Name + w.in() + " --file " + w.Cluster.Name + ".kubeconfig"
}

// in returns the flag for the cluster's namespace, with a space before it; "" for the default namespace.
func (w walker) in() string {
	if ns := w.Cluster.Namespace; ns != "" && ns != "default" {
		return " -n " + ns
	}
	return ""
}

// managed reports whether an object, as KIND/NAME, is in the management cluster.
func managed(at string) bool {
	at = strings.TrimPrefix(at, "guest of ")
	name, _, _ := strings.Cut(at, "/")
	prefixes := []string{"Machine", "Azure", "Kubeadm", "Helm", "ClusterClass", "ClusterResourceSet"}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(kind.All, func(k kind.Kind) bool { return k.Name == name })
}

// filled replaces the placeholders of a text by the names of the objects of a finding.
func (w walker) filled(a *finding, text string) string {
	if w.Cluster == nil {
		return text
	}
	of, name, _ := strings.Cut(strings.TrimPrefix(a.At, "guest of "), "/")
	with := []string{"CLUSTER", w.Cluster.Name}
	if ac := w.AzureCluster; ac != nil {
		with = append(with, "REGION", ac.Spec.Location, "GROUP", ac.Spec.ResourceGroup)
	}
	switch of {
	case "Node":
		with = append(with, "NODE", name)
	case "Machine":
		with = append(with, "MACHINE", name)
	case "AzureMachine", "KubeadmConfig":
		with = append(with, "MACHINE", w.machineOf(of, name))
	case "Pod":
		for i := range w.Pods {
			if p := &w.Pods[i]; p.Name == name {
				with = append(with, "NODE", p.Spec.NodeName, "NAMESPACE", p.Namespace)
			}
		}
	}
	for i := 0; i < len(with); i += 2 {
		text = replaceWord(text, with[i], with[i+1])
	}
	return text
}

// machineOf returns the name of the machine with a VM or bootstrap config, or "".
func (w walker) machineOf(of, name string) string {
	i := slices.IndexFunc(w.Machines, func(m clusterv1.Machine) bool {
		return of == m.Spec.InfrastructureRef.Kind && name == m.Spec.InfrastructureRef.Name || name == m.Spec.Bootstrap.ConfigRef.Name
	})
	if i < 0 {
		return ""
	}
	return w.Machines[i].Name
}

// replaceWord replaces a placeholder in capitals, unless it is part of another word, such as a field or a variable.
func replaceWord(text, word, with string) string {
	if with == "" {
		return text
	}
	part := func(b byte) bool {
		return b == '_' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
	}
	var out strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return out.String() + text
		}
		end := i + len(word)
		inside := i > 0 && part(text[i-1]) || end < len(text) && part(text[end])
		out.WriteString(text[:i])
		if inside {
			out.WriteString(word)
		} else {
			out.WriteString(with)
		}
		text = text[end:]
	}
}
