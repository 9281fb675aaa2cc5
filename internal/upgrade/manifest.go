package upgrade

import (
	"bytes"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/windows"
)

// Manifest returns the manifest of a pool's step, for `kubectl apply --server-side --force-conflicts`: existing objects
// only have their changed fields.
func (p *Plan) Manifest(in Input, pool *Pool) ([]byte, error) {
	release := "windows-" + p.To
	head := fmt.Sprintf("# %s/%s of cluster %s from Windows Server %s to %s.\n"+
		"# kubectl apply --server-side --force-conflicts -f %s && casement wait %s\n",
		pool.Kind, pool.Name, p.Cluster, pool.From, p.To, pool.File, p.Cluster)
	switch {
	case pool.Topology:
		return write(head, in.topology(release))
	case pool.Kind == "MachineDeployment":
		if pool.Next == "" {
			head += "# The new template has no image: name yours in spec.template.spec.image, or delete these lines for the default one.\n"
		}
		next := templateOf(pool.template, p.To)
		return write(head, next, map[string]any{
			"apiVersion": clusterv1.GroupVersion.String(), "kind": "MachineDeployment",
			"metadata": map[string]any{"name": pool.Name, "namespace": in.Cluster.Namespace},
			"spec": map[string]any{"clusterName": p.Cluster, "template": map[string]any{"spec": map[string]any{
				"clusterName": p.Cluster,
				"infrastructureRef": map[string]any{"apiGroup": infrav1.GroupVersion.Group, "kind": "AzureMachineTemplate",
					"name": next.Name},
			}}},
		})
	}
	if pool.Next == "" {
		head += "# The pool has an image of its own: name the new one in spec.template.image.\n"
	}
	return write(head, map[string]any{
		"apiVersion": infrav1.GroupVersion.String(), "kind": "AzureMachinePool",
		"metadata": map[string]any{"name": pool.pool.Name, "namespace": in.Cluster.Namespace,
			"annotations": map[string]any{windows.WindowsServerVersionAnnotation: release}},
	})
}

// templateOf returns a copy of a machine template for a release, without an image and without the fields that the API
// server and controllers write.
func templateOf(old *infrav1.AzureMachineTemplate, to string) *infrav1.AzureMachineTemplate {
	next := old.DeepCopy()
	next.TypeMeta = metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "AzureMachineTemplate"}
	next.ObjectMeta = metav1.ObjectMeta{Name: templateName(old.Name, to), Namespace: old.Namespace, Labels: old.Labels}
	if next.Spec.Template.ObjectMeta.Annotations == nil {
		next.Spec.Template.ObjectMeta.Annotations = map[string]string{}
	}
	next.Spec.Template.ObjectMeta.Annotations[windows.WindowsServerVersionAnnotation] = "windows-" + to
	next.Spec.Template.Spec.Image = nil
	next.Status = infrav1.AzureMachineTemplateStatus{}
	return next
}

// templateName returns the name of the template for a release: the old template's name, with the year of its release
// replaced or added.
func templateName(old, to string) string {
	for _, name := range windows.ServerReleases() {
		if rest, ok := strings.CutSuffix(old, "-"+name); ok {
			return rest + "-" + to
		}
	}
	return old + "-" + to
}

// topology returns the Cluster with the release as the variable of its ClusterClass.
func (in Input) topology(release string) map[string]any {
	variables := []map[string]any{{"name": "windowsServerVersion", "value": release}}
	return map[string]any{
		"apiVersion": clusterv1.GroupVersion.String(), "kind": "Cluster",
		"metadata": map[string]any{"name": in.Cluster.Name, "namespace": in.Cluster.Namespace},
		"spec": map[string]any{"topology": map[string]any{
			"classRef": map[string]any{"name": in.Cluster.Spec.Topology.ClassRef.Name}, "version": in.Cluster.Spec.Topology.Version,
			"variables": variables,
		}},
	}
}

// write joins objects to one manifest, without status and empty timestamps.
func write(head string, objects ...any) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(head)
	for _, o := range objects {
		if typed, ok := o.(runtime.Object); ok {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
			if err != nil {
				return nil, fmt.Errorf("write a manifest: %w", err)
			}
			delete(fields, "status")
			o = fields
		}
		data, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("write a manifest: %w", err)
		}
		out.WriteString("---\n")
		out.Write(bytes.ReplaceAll(data, []byte("  creationTimestamp: null\n"), nil))
	}
	return out.Bytes(), nil
}
