package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/lint"
)

// topologies is a set of manifests in which each Cluster with a ClusterClass is replaced by the objects that Cluster
// API renders from the class.
type topologies struct {
	// created has all objects to be created; set lacks the class's templates that were rendered, because only the
	// rendered objects are checked.
	created, set *lint.Set
	// refused are the errors of Cluster API's admission for Clusters that were not rendered.
	refused map[*lint.Object]field.ErrorList
	// unknown are the reasons why the other Clusters were not rendered.
	unknown []string
}

// rendered has the name of a Cluster's class, and either the objects that it produces or the reasons why admission
// refuses the Cluster.
type rendered struct {
	class   string
	objects []*unstructured.Unstructured
	refused field.ErrorList
}

// renderTopologies renders all Clusters that can be rendered. It returns an error if the rendered objects cannot be parsed.
func renderTopologies(ctx context.Context, in *lint.Set) (topologies, error) {
	out := topologies{created: in, set: in, refused: map[*lint.Object]field.ErrorList{}}
	var all []*unstructured.Unstructured
	clusters := map[*lint.Object]*unstructured.Unstructured{}
	for _, o := range in.Objects {
		if !o.OfClusterAPI() {
			continue
		}
		u := &unstructured.Unstructured{}
		raw, err := o.Root.JSON()
		if err != nil || u.UnmarshalJSON(raw) != nil {
			continue // the checks of the Cluster's fields report the error
		}
		all = append(all, u)
		if _, defined, _ := unstructured.NestedMap(u.Object, "spec", "topology"); o.Kind == "Cluster" && defined {
			clusters[o] = u
		}
	}
	if len(clusters) == 0 {
		return out, nil
	}
	out.created = &lint.Set{Pods: in.Pods}
	used := map[string]bool{}
	for _, o := range in.Objects {
		cluster, ok := clusters[o]
		if !ok {
			out.created.Objects = append(out.created.Objects, o)
			continue
		}
		made, err := render(ctx, cluster, all)
		name := "cluster " + o.Name
		if made.class != "" {
			name += " of ClusterClass " + made.class
		}
		switch {
		case err != nil:
			out.unknown = append(out.unknown, fmt.Sprintf("%s: %v", name, err))
			out.created.Objects = append(out.created.Objects, o)
		case len(made.refused) > 0:
			out.refused[o] = made.refused
			out.created.Objects = append(out.created.Objects, o)
		default:
			objects, err := asManifests(name, made.objects)
			if err != nil {
				return out, err
			}
			out.created.Objects = slices.Concat(out.created.Objects, objects)
			for _, o := range made.objects {
				from := o.GetAnnotations()
				used[from[clusterv1.TemplateClonedFromGroupKindAnnotation]+" "+from[clusterv1.TemplateClonedFromNameAnnotation]] = true
			}
		}
	}
	out.set = &lint.Set{Pods: in.Pods, Objects: slices.DeleteFunc(slices.Clone(out.created.Objects), func(o *lint.Object) bool {
		kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind().String()
		return used[kind+" "+o.Name]
	})}
	return out, nil
}

// asManifests parses objects as if they were in a file of the given name, so that findings have line numbers.
func asManifests(name string, objects []*unstructured.Unstructured) ([]*lint.Object, error) {
	var text bytes.Buffer
	for _, o := range objects {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text.WriteString("---\n")
		text.Write(data)
	}
	set, errs := lint.Parse(name, text.Bytes(), lint.Options{})
	return set.Objects, errors.Join(errs...)
}
