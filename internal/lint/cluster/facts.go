package cluster

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// Facts are properties of a cluster that its API server and nodes report.
type Facts struct {
	// KubernetesVersion is the version of the API server, such as v1.34.2.
	KubernetesVersion string
	// Windows are the releases of the Windows nodes; Taints are the taints that all of them have.
	Windows []string
	Taints  []lint.Taint
	// Mixed is true if there are Windows nodes and nodes of another system.
	Mixed bool

	windows, others int
}

// node adds the facts of a node.
func (f *Facts) node(object *unstructured.Unstructured) {
	labels := object.GetLabels()
	if labels[lint.LabelOS] != "windows" {
		f.others++
		return
	}
	f.windows++
	if r, ok := windows.ReleaseByBuild(labels[lint.LabelWindowsBuild]); ok && !slices.Contains(f.Windows, r.Name) {
		f.Windows = append(f.Windows, r.Name)
	}
	own := taints(object)
	if f.windows == 1 {
		f.Taints = own
		return
	}
	f.Taints = slices.DeleteFunc(f.Taints, func(t lint.Taint) bool { return !slices.Contains(own, t) })
}

// taints returns the taints that an administrator set. Taints of Kubernetes and Cluster API are omitted, because they
// describe a temporary state of a node.
func taints(object *unstructured.Unstructured) []lint.Taint {
	list, _, err := unstructured.NestedSlice(object.Object, "spec", "taints")
	if err != nil {
		return nil
	}
	var out []lint.Taint
	for _, item := range list {
		data, err := json.Marshal(item)
		if err != nil {
			continue
		}
		var t corev1.Taint
		if json.Unmarshal(data, &t) == nil && !state(t.Key) {
			out = append(out, lint.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	return out
}

func state(key string) bool {
	return slices.ContainsFunc([]string{
		"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.cluster.x-k8s.io/",
	}, func(prefix string) bool {
		return strings.HasPrefix(key, prefix)
	})
}

func (f *Facts) finish() {
	slices.Sort(f.Windows)
	f.Mixed = f.windows > 0 && f.others > 0
}

// Complete returns a configuration whose empty fields are filled from the facts.
func (f Facts) Complete(c lint.Config) lint.Config {
	if c.KubernetesVersion == "" {
		c.KubernetesVersion = release(f.KubernetesVersion)
	}
	if len(c.Windows) == 0 {
		c.Windows = f.Windows
	}
	if len(c.Taints) == 0 {
		c.Taints = f.Taints
	}
	c.Mixed = c.Mixed || f.Mixed
	return c
}

// release removes vendors' suffixes: v1.34.2-eks-1a2b becomes 1.34.2.
func release(version string) string {
	end := strings.IndexFunc(version, func(r rune) bool { return !strings.ContainsRune("v0123456789.", r) })
	if end >= 0 {
		version = version[:end]
	}
	return strings.TrimPrefix(version, "v")
}
