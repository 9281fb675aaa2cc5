package facts

import (
	"cmp"
	"context"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// named is a reference with the API group of its target.
type named struct {
	Reference

	group string
}

// references returns the references from the cluster's objects to others. It omits the references of machines, because
// the lists already show whether their targets exist.
func references(f *Snapshot) []named {
	var out []named
	namespace := f.Cluster.Namespace
	add := func(from, field string, r clusterv1.ContractVersionedObjectReference) {
		if r.Name != "" {
			out = append(out, named{Reference{From: from, Field: field, Kind: r.Kind, Namespace: namespace, Name: r.Name}, r.APIGroup})
		}
	}
	template := func(from string, s *clusterv1.MachineSpec) {
		add(from, "spec.template.spec.bootstrap.configRef", s.Bootstrap.ConfigRef)
		add(from, "spec.template.spec.infrastructureRef", s.InfrastructureRef)
	}
	cluster := "Cluster/" + f.Cluster.Name
	if class := f.Cluster.Spec.Topology.ClassRef; class.Name != "" {
		at := namespace
		if class.Namespace != "" {
			at = class.Namespace
		}
		out = append(out, named{Reference{
			From: cluster, Field: "spec.topology.classRef", Kind: "ClusterClass", Namespace: at, Name: class.Name,
		}, clusterv1.GroupVersion.Group})
	}
	add(cluster, "spec.infrastructureRef", f.Cluster.Spec.InfrastructureRef)
	add(cluster, "spec.controlPlaneRef", f.Cluster.Spec.ControlPlaneRef)
	if kcp := f.ControlPlane; kcp != nil {
		add("KubeadmControlPlane/"+kcp.Name, "spec.machineTemplate.spec.infrastructureRef", kcp.Spec.MachineTemplate.Spec.InfrastructureRef)
	}
	for i := range f.Deployments {
		template("MachineDeployment/"+f.Deployments[i].Name, &f.Deployments[i].Spec.Template.Spec)
	}
	for i := range f.Sets {
		if s := &f.Sets[i]; metav1.GetControllerOf(s) == nil {
			template("MachineSet/"+s.Name, &s.Spec.Template.Spec)
		}
	}
	for i := range f.Pools {
		template("MachinePool/"+f.Pools[i].Name, &f.Pools[i].Spec.Template.Spec)
	}
	if ac := f.AzureCluster; ac != nil && ac.Spec.IdentityRef != nil {
		r := ac.Spec.IdentityRef
		at := namespace
		if r.Namespace != "" {
			at = r.Namespace
		}
		out = append(out, named{Reference{
			From: "AzureCluster/" + ac.Name, Field: "spec.identityRef", Kind: r.Kind, Namespace: at, Name: r.Name,
		}, infrav1.GroupVersion.Group})
	}
	return out
}

// dangling reads the target of every reference of the cluster's objects, each target once, and records the references
// whose target does not exist.
func dangling(ctx context.Context, c client.Client, f *Snapshot) error {
	return unresolved(ctx, c, f, references(f))
}

// unresolved does the same as dangling for a list of references.
func unresolved(ctx context.Context, c client.Client, f *Snapshot, all []named) error {
	type thing struct{ group, kind, namespace, name string }
	by := map[thing][]Reference{}
	for _, r := range all {
		t := thing{r.group, r.Kind, r.Namespace, r.Name}
		by[t] = append(by[t], r.Reference)
	}
	var mu sync.Mutex
	absent := map[thing]string{}
	var reads []func() error
	for t := range by {
		reads = append(reads, func() error {
			missing, why, err := isMissing(ctx, c, schema.GroupKind{Group: t.group, Kind: t.kind},
				client.ObjectKey{Namespace: t.namespace, Name: t.name})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case apierrors.IsForbidden(err):
				f.Unexamined(t.kind+" "+t.name, err)
			case err != nil:
				return err
			case missing:
				absent[t] = why
			}
			return nil
		})
	}
	if err := together(reads...); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range all { // in the order of package walk
		if why, is := absent[thing{r.group, r.Kind, r.Namespace, r.Name}]; is {
			r.Why = why
			f.Dangling = append(f.Dangling, r.Reference)
		}
	}
	return nil
}

// sources returns the references of claims without a volume to the objects that their content comes from, such as a snapshot.
func sources(claims []corev1.PersistentVolumeClaim) (out []named) {
	for i := range claims {
		c := &claims[i]
		from := c.Spec.DataSourceRef
		if c.Status.Phase != corev1.ClaimPending || from == nil {
			continue
		}
		r := named{Reference: Reference{From: "PersistentVolumeClaim/" + c.Name, Field: "spec.dataSourceRef", Kind: from.Kind,
			Namespace: c.Namespace, Name: from.Name}}
		if from.APIGroup != nil {
			r.group = *from.APIGroup
		}
		if from.Namespace == nil || *from.Namespace == c.Namespace {
			out = append(out, r)
		}
	}
	return out
}

// isMissing reports whether an object is missing, from its metadata. why is the reason if the API server has no such kind.
func isMissing(ctx context.Context, c client.Client, kind schema.GroupKind, key client.ObjectKey) (missing bool, why string, err error) {
	mapping, err := c.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return true, "the API server has no kind " + kind.String(), nil
	}
	if err != nil {
		return false, "", err
	}
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(mapping.GroupVersionKind)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		key.Namespace = ""
	}
	err = c.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		return true, "", nil
	}
	return false, "", err
}

// targets are reference fields of kinds of a workload cluster whose missing targets no controller reports. The field at
// path contains a name, or an object with namespace, name and kind.
var targets = []struct{ of, path, group, kind string }{
	{"Ingress", "spec.tls.secretName", "", "Secret"},
	{"ServiceAccount", "imagePullSecrets", "", "Secret"},
	{"RoleBinding", "roleRef", "rbac.authorization.k8s.io", ""},
	{"ClusterRoleBinding", "roleRef", "rbac.authorization.k8s.io", ""},
	{"ValidatingWebhookConfiguration", "webhooks.clientConfig.service", "", "Service"},
	{"MutatingWebhookConfiguration", "webhooks.clientConfig.service", "", "Service"},
	{"CustomResourceDefinition", "spec.conversion.webhook.clientConfig.service", "", "Service"},
	{"VolumeAttachment", "spec.nodeName", "", "Node"},
	{"VolumeAttachment", "spec.source.persistentVolumeName", "", "PersistentVolume"},
	{"ValidatingAdmissionPolicyBinding", "spec.policyName", "admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
	{"MutatingAdmissionPolicyBinding", "spec.policyName", "admissionregistration.k8s.io", "MutatingAdmissionPolicy"},
}

// pointers returns the references of an object in the fields that targets lists.
func pointers(o *unstructured.Unstructured) (out []named) {
	for _, t := range targets {
		if t.of != o.GetKind() {
			continue
		}
		for _, v := range values(o.Object, strings.Split(t.path, ".")) {
			r := named{Reference{From: o.GetKind() + "/" + o.GetName(), Field: t.path, Kind: t.kind, Namespace: o.GetNamespace()}, t.group}
			switch v := v.(type) {
			case string:
				r.Name = v
			case map[string]any:
				text := func(key string) string { t, _ := v[key].(string); return t }
				r.Name, r.Kind = text("name"), cmp.Or(r.Kind, text("kind"))
				r.Namespace = cmp.Or(text("namespace"), r.Namespace)
			}
			if r.Name != "" {
				out = append(out, r)
			}
		}
	}
	return out
}

// values returns the values at a path of a document, in all items of lists along the path.
func values(v any, path []string) (out []any) {
	switch in := v.(type) {
	case []any:
		for _, item := range in {
			out = append(out, values(item, path)...)
		}
	case map[string]any:
		if len(path) > 0 {
			return values(in[path[0]], path[1:])
		}
		return []any{in}
	case string:
		return []any{in}
	}
	return out
}
