package ui

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/rest"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/redact"
)

// Limits of the shown part of a container's log.
const (
	maxLogLines = 500
	maxLogBytes = 256 << 10
)

// shown is the object of a row, with the clients for its cluster.
type shown struct {
	client client.Client
	config *rest.Config
	object *unstructured.Unstructured
}

// Show implements Source.
func (r *Reader) Show(ctx context.Context, s Selection, what string, w io.Writer) error {
	at, err := r.shown(ctx, s)
	if err != nil {
		return err
	}
	switch {
	case what == "yaml":
		return at.yaml(w)
	case what == "events":
		return at.events(ctx, w)
	case what == "logs" && at.object.GetKind() == "Pod":
		return at.logs(ctx, w)
	}
	return fmt.Errorf("%q of a %s is not shown", what, at.object.GetKind())
}

// shown reads the object of a row from the management cluster, or from the workload cluster with its kubeconfig.
func (r *Reader) shown(ctx context.Context, s Selection) (at shown, err error) {
	if at.client, err = r.Client(); err != nil {
		return at, err
	}
	at.object = &unstructured.Unstructured{}
	part := strings.Split(s.Key, "/")
	var kind schema.GroupVersionKind
	var key, cluster client.ObjectKey
	switch {
	case len(part) == 4 && part[0] == "object":
		key = client.ObjectKey{Namespace: part[2], Name: part[3]}
		for _, group := range []schema.GroupVersion{clusterv1.GroupVersion, controlplanev1.GroupVersion, infrav1.GroupVersion} {
			if of := group.WithKind(part[1]); at.client.Scheme().Recognizes(of) {
				kind = of
			}
		}
	case len(part) == 4 && part[0] == "node":
		cluster, key = client.ObjectKey{Namespace: part[1], Name: part[2]}, client.ObjectKey{Name: part[3]}
		kind = corev1.SchemeGroupVersion.WithKind("Node")
	case len(part) == 5 && part[0] == "pod":
		cluster, key = client.ObjectKey{Namespace: part[1], Name: part[2]}, client.ObjectKey{Namespace: part[3], Name: part[4]}
		kind = corev1.SchemeGroupVersion.WithKind("Pod")
	}
	if kind.Empty() {
		return at, errSelection
	}
	if cluster.Name != "" {
		if at.client, at.config, err = facts.Workload(ctx, at.client, cluster); err != nil {
			return at, err
		}
	}
	at.object.SetGroupVersionKind(kind)
	return at, at.client.Get(ctx, key, at.object)
}

// yaml writes the object without the fields that only the API server needs.
func (s shown) yaml(w io.Writer) error {
	s.object.SetManagedFields(nil)
	data, err := yaml.Marshal(redact.Object(s.object.Object))
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// events writes the object's events, the newest last.
func (s shown) events(ctx context.Context, w io.Writer) error {
	var list corev1.EventList
	of := client.MatchingFields{"involvedObject.name": s.object.GetName(), "involvedObject.kind": s.object.GetKind()}
	if err := s.client.List(ctx, &list, of); err != nil {
		return err
	}
	at := func(e corev1.Event) time.Time {
		return slices.MaxFunc([]time.Time{e.EventTime.Time, e.LastTimestamp.Time, e.CreationTimestamp.Time}, time.Time.Compare)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return at(a).Compare(at(b)) })
	if len(list.Items) == 0 {
		_, err := fmt.Fprintln(w, "The API server has no event of it; it keeps each for an hour.")
		return err
	}
	for _, e := range list.Items {
		_, err := fmt.Fprintf(w, "%-6s %-8s %s: %s\n", duration.HumanDuration(time.Since(at(e))), e.Type, e.Reason, redact.Text(e.Message))
		if err != nil {
			return err
		}
	}
	return nil
}

// logs writes the ends of the logs of a pod's containers.
func (s shown) logs(ctx context.Context, w io.Writer) error {
	core, err := facts.Core(s.config)
	if err != nil {
		return err
	}
	var names []string
	for _, field := range []string{"initContainers", "containers"} {
		list, _, _ := unstructured.NestedSlice(s.object.Object, "spec", field)
		for _, c := range list {
			name, _, _ := unstructured.NestedString(c.(map[string]any), "name")
			names = append(names, name)
		}
	}
	out := &redactor{w: w}
	for _, name := range names {
		if len(names) > 1 {
			fmt.Fprintf(out, "== %s\n", name)
		}
		text, err := core.Get().Namespace(s.object.GetNamespace()).Resource("pods").Name(s.object.GetName()).SubResource("log").
			Param("container", name).Param("tailLines", fmt.Sprint(maxLogLines)).Param("limitBytes", fmt.Sprint(maxLogBytes)).DoRaw(ctx)
		if err != nil {
			text = []byte(err.Error() + "\n") // an error of this container; another container may have a log
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return out.flush()
}
