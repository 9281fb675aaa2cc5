package facts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/kind"
)

// Other is a kind of the workload cluster that is read only if the usual objects show no fault, or if a user names it.
type Other struct {
	Kind, Short string
	// Group is the group and version as in a path, and Resource the plural.
	Group, Resource string
	Namespaced      bool
}

// Others returns the kinds that More reads.
func Others() []Other {
	return []Other{
		{"Ingress", "ing", "networking.k8s.io/v1", "ingresses", true},
		{"IngressClass", "", "networking.k8s.io/v1", "ingressclasses", false},
		{"NetworkPolicy", "netpol", "networking.k8s.io/v1", "networkpolicies", true},
		{"HorizontalPodAutoscaler", "hpa", "autoscaling/v2", "horizontalpodautoscalers", true},
		{"CronJob", "cj", "batch/v1", "cronjobs", true},
		{"PodDisruptionBudget", "pdb", "policy/v1", "poddisruptionbudgets", true},
		{"APIService", "", "apiregistration.k8s.io/v1", "apiservices", false},
		{"Namespace", "ns", "", "namespaces", false},
		{"PersistentVolume", "pv", "", "persistentvolumes", false},
		{"CertificateSigningRequest", "csr", "certificates.k8s.io/v1", "certificatesigningrequests", false},
		{"StorageClass", "sc", "storage.k8s.io/v1", "storageclasses", false},
		{"CustomResourceDefinition", "crd", "apiextensions.k8s.io/v1", "customresourcedefinitions", false},
		{"ValidatingWebhookConfiguration", "", "admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", false},
		{"MutatingWebhookConfiguration", "", "admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", false},
	}
}

// path returns the API path of a kind's list, or of one object.
func (o Other) path(namespace, name string) string {
	at := "/apis/" + o.Group
	if o.Group == "" || o.Group == "v1" {
		at = "/api/v1"
	}
	if o.Namespaced && namespace != "" {
		at += "/namespaces/" + namespace
	}
	at += "/" + o.Resource
	if name != "" {
		at += "/" + name
	}
	return at
}

// resourceSets lists the ClusterResourceSets that select the cluster.
func resourceSets(ctx context.Context, c client.Client, cluster *clusterv1.Cluster) ([]unstructured.Unstructured, error) {
	all, err := foreign(ctx, c, "addons.cluster.x-k8s.io/v1beta2", "ClusterResourceSet", client.InNamespace(cluster.Namespace))
	return slices.DeleteFunc(all, func(o unstructured.Unstructured) bool {
		chosen, _, _ := unstructured.NestedMap(o.Object, "spec", "clusterSelector")
		var selector metav1.LabelSelector
		if runtime.DefaultUnstructuredConverter.FromUnstructured(chosen, &selector) != nil {
			return true
		}
		of, err := metav1.LabelSelectorAsSelector(&selector)
		return err != nil || !of.Matches(labels.Set(cluster.Labels))
	}), err
}

// maxPointers is the maximum number of references of a cluster's other objects that are followed.
const maxPointers = 50

// more returns a function that reads the other kinds of a workload cluster, in parallel and without discovery; it also
// checks whether the targets of their references exist, and reads the kinds of the management cluster that install
// objects in the workload cluster.
func more(c, w client.Client, cfg *rest.Config, f *Snapshot) func(context.Context) error {
	return func(ctx context.Context) error {
		core, err := Core(cfg)
		if err != nil {
			return err
		}
		found := make([][]unstructured.Unstructured, len(Others()))
		reads := map[string]func() error{}
		for i, o := range Others() {
			reads[o.Kind+"s"] = func() (err error) {
				found[i], err = items(ctx, o, core.Get().Param("resourceVersion", "0"))
				return err
			}
		}
		var sets, bindings []unstructured.Unstructured
		reads["ClusterResourceSets"] = func() (err error) {
			if sets, err = resourceSets(ctx, c, f.Cluster); err == nil {
				bindings, err = foreign(ctx, c, "addons.cluster.x-k8s.io/v1beta2", "ClusterResourceSetBinding", client.InNamespace(f.Cluster.Namespace))
			}
			return err
		}
		if err := f.allowed(reads); err != nil {
			return err
		}
		f.Others = map[string][]unstructured.Unstructured{}
		for i, o := range Others() {
			for j := range found[i] {
				found[i][j].SetKind(o.Kind)
			}
			f.Others[o.Kind] = found[i]
		}
		f.Others["ClusterResourceSet"] = sets
		f.Others["ClusterResourceSetBinding"] = slices.DeleteFunc(bindings, func(o unstructured.Unstructured) bool {
			return o.GetName() != f.Cluster.Name
		})
		f.Custom = custom(ctx, core, f)
		var all []named
		for _, o := range Others() {
			for i := range f.Others[o.Kind] {
				all = append(all, pointers(&f.Others[o.Kind][i])...)
			}
		}
		return unresolved(ctx, w, f, all[:min(len(all), maxPointers)])
	}
}

// items reads the list of a kind in all namespaces.
func items(ctx context.Context, o Other, request *rest.Request) ([]unstructured.Unstructured, error) {
	data, err := request.AbsPath(o.path("", "")).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var list unstructured.UnstructuredList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the list of %ss: %w", o.Kind, err)
	}
	return list.Items, nil
}

// maxCustom is the maximum number of other projects' kinds that are read; maxObjects is that number for the objects of a kind.
const maxCustom, maxObjects = 100, 500

// custom lists, in parallel, the objects of the kinds that other projects have added to a cluster and that have a
// status. It records the kinds that it could not read.
func custom(ctx context.Context, core rest.Interface, f *Snapshot) []unstructured.Unstructured {
	kinds := declaredKinds(f.Others["CustomResourceDefinition"])
	if len(kinds) > maxCustom {
		f.Unexamined("kinds of other projects", fmt.Errorf("only %d of %d were read", maxCustom, len(kinds)))
		kinds = kinds[:maxCustom]
	}
	found := make([][]unstructured.Unstructured, len(kinds))
	var reads []func() error
	for i, o := range kinds {
		reads = append(reads, func() (err error) {
			found[i], err = items(ctx, o, core.Get().Param("limit", strconv.Itoa(maxObjects)))
			if err != nil && !apierrors.IsNotFound(err) { // a kind of a removed operator may be unreadable; it reports that itself
				f.Unexamined(o.Kind+"s", err)
			}
			return nil
		})
	}
	_ = together(reads...) // the functions return no errors
	return slices.Concat(found...)
}

// declaredKinds returns the kinds with a status that CustomResourceDefinitions declare, each in its stored version.
func declaredKinds(definitions []unstructured.Unstructured) (out []Other) {
	for i := range definitions {
		d := definitions[i].Object
		text := func(path ...string) string { t, _, _ := unstructured.NestedString(d, path...); return t }
		versions, _, _ := unstructured.NestedSlice(d, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			name, _ := version["name"].(string)
			_, has, _ := unstructured.NestedMap(version, "subresources", "status")
			if has && version["storage"] == true && version["served"] == true {
				out = append(out, Other{Kind: text("spec", "names", "kind"), Group: text("spec", "group") + "/" + name,
					Resource: text("spec", "names", "plural"), Namespaced: text("spec", "scope") == "Namespaced"})
			}
		}
	}
	return out
}

// otherOf returns the kind in Others for a word.
func otherOf(word string) (Other, bool) {
	for _, o := range Others() {
		if word != "" && (word == strings.ToLower(o.Kind) || word == o.Short || word == o.Resource) {
			return o, true
		}
	}
	return Other{}, false
}

// shorts are Cluster API's short names of kinds that are not in kind.All.
var shorts = map[string]string{"mhc": "machinehealthcheck", "cc": "clusterclass", "crs": "clusterresourceset"}

// declared returns the kind of Cluster API, of its providers and addons, or of casement, for a word.
func declared(c client.Client, word string) (kind.Kind, bool) {
	word = cmp.Or(shorts[word], word)
	for _, k := range kind.All {
		if word != "" && (word == strings.ToLower(k.Name) || word == k.Resource || word == k.Short) {
			return k, true
		}
	}
	if _, is := otherOf(word); is || word == "" {
		return kind.Kind{}, false
	}
	of, err := c.RESTMapper().KindFor(schema.GroupVersionResource{Resource: word})
	if err != nil || !strings.HasSuffix(of.Group, "cluster.x-k8s.io") {
		return kind.Kind{}, false // the workload cluster may have the kind
	}
	return kind.Kind{Name: of.Kind, Group: of.Group}, true
}

// findDeclared finds an object of the management cluster whose kind has no steps of diagnosis of its own, and the cluster
// that the object belongs to: the one in its label, else the argument cluster, else the only cluster in the namespace.
func findDeclared(ctx context.Context, c client.Client, namespace, cluster string, k kind.Kind, name string) (Object, error) {
	mapping, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: k.Group, Kind: k.Name})
	if err != nil {
		return Object{}, err
	}
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, meta); err != nil {
		return Object{}, fmt.Errorf("read %s %s: %w", k.Name, name, err)
	}
	of := client.ObjectKey{Namespace: namespace, Name: cmp.Or(meta.Labels[clusterv1.ClusterNameLabel], cluster)}
	if of.Name == "" {
		only, err := Only(ctx, c, namespace)
		if err != nil {
			return Object{}, fmt.Errorf("%w; say which one %s %s belongs to with --cluster", err, k.Name, name)
		}
		of = only.Cluster
	}
	return Object{Cluster: of, Kind: k.Name, Name: name, Namespace: namespace,
		generic: &generic{func(ctx context.Context, s *Snapshot) error {
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(mapping.GroupVersionKind)
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
				return err
			}
			s.Asked = o
			return nil
		}}}, nil
}

// findForeign finds an object of any other kind that the workload cluster's API server serves.
func findForeign(ctx context.Context, c client.Client, o Object, word, name string) (Object, error) {
	w, cfg, err := Workload(ctx, c, o.Cluster)
	if err != nil {
		if _, is := otherOf(word); !is {
			err = fmt.Errorf("%s is none of %s; and its cluster cannot be asked: %w", word, known, err)
		}
		return Object{}, err
	}
	other, err := served(cfg, word)
	if err != nil {
		return Object{}, err
	}
	o.Kind, o.Name = other.Kind, name
	if !other.Namespaced {
		o.Namespace = ""
	}
	o.generic = &generic{func(ctx context.Context, s *Snapshot) error {
		core, err := Core(cfg)
		if err != nil {
			return err
		}
		data, err := core.Get().AbsPath(other.path(o.Namespace, name)).DoRaw(ctx)
		if apierrors.IsNotFound(err) {
			missing := fmt.Sprintf("there is no %s %s in cluster %s", other.Kind, name, o.Cluster.Name)
			if other.Namespaced {
				missing += "; name it as " + word + "/NAMESPACE/NAME"
			}
			return errors.New(missing)
		}
		asked := &unstructured.Unstructured{}
		if refused := refusal(data); err != nil && refused != "" {
			asked.SetName(name)
			asked.SetNamespace(o.Namespace)
			asked.SetKind(other.Kind)
			s.Asked, s.Refused = asked, refused
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, asked); err != nil {
			return err
		}
		asked.SetKind(other.Kind)
		s.Asked = asked
		return unresolved(ctx, w, s, pointers(asked))
	}}
	return o, nil
}

// refusal returns the message of an API server's error response, or "".
func refusal(answer []byte) string {
	var status metav1.Status
	if json.Unmarshal(answer, &status) != nil || status.Status != metav1.StatusFailure {
		return ""
	}
	return status.Message
}

// served returns the kind for a word: one of Others, or a kind that the API server serves.
func served(cfg *rest.Config, word string) (Other, error) {
	if other, is := otherOf(word); is {
		return other, nil
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return Other{}, err
	}
	lists, err := d.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return Other{}, err
	}
	for _, list := range lists {
		for _, r := range list.APIResources {
			names := append([]string{strings.ToLower(r.Kind), r.Name, r.SingularName}, r.ShortNames...)
			for _, n := range names {
				if n == word {
					return Other{Kind: r.Kind, Group: list.GroupVersion, Resource: r.Name, Namespaced: r.Namespaced}, nil
				}
			}
		}
	}
	return Other{}, fmt.Errorf("the cluster has no kind %q, and it is none of %s", word, known)
}
