// Package cluster reads the objects that casement lint examines from a running cluster: workloads and the objects that
// affect their placement, page by page, and facts from the labels and taints of nodes. It only lists; it reads neither Secrets nor
// ConfigMaps, keeps no cache and watches nothing. internal/cli imports it; the webhook gets its objects from the API
// server.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/lint"
)

const (
	// pageSize is the number of objects per page, the same as kubectl's.
	pageSize = 500
	// maxStale is the maximum number of consecutive expirations of a list's token without new objects.
	maxStale = 5
	// requestTimeout is the timeout of the request for one page.
	requestTimeout = time.Minute
)

// Options select the objects to read.
type Options struct {
	// Namespace is the namespace to read; "" means all.
	Namespace string
	// Set has the options for adding objects. Its Templates name additional kinds to read.
	Set lint.Options
}

// Contents are the objects and facts read from a cluster.
type Contents struct {
	Set   *lint.Set
	Facts Facts
	// Unread are errors with the kinds that could not be read.
	Unread []error
}

// Read lists the objects that rules examine. Kinds that could not be read are in Contents; it returns an
// error only if no kind could be read.
func Read(ctx context.Context, cfg *rest.Config, o Options) (Contents, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = requestTimeout
	cfg.WarningHandler = rest.NoWarnings{} // warnings about deprecated APIs are irrelevant for the objects
	found, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return Contents{}, err
	}
	version, err := found.ServerVersion()
	if err != nil {
		return Contents{}, fmt.Errorf("reach the cluster %s: %w", cfg.Host, err)
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return Contents{}, err
	}
	r := &reader{
		client: client, options: o, contents: Contents{Set: &lint.Set{}, Facts: Facts{KubernetesVersion: version.GitVersion}},
		taken: map[types.UID]struct{}{},
	}
	served, err := serve(found)
	if groups, partly := discovery.GroupDiscoveryFailedErrorGroups(err); partly {
		for _, group := range slices.SortedFunc(maps.Keys(groups),
			func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
			if concerns(group.Group) {
				r.fail("%s: the cluster does not say what it serves: %w", group, groups[group])
			}
		}
	} else if err != nil {
		return r.contents, fmt.Errorf("ask the cluster what it serves: %w", err)
	}
	resources, absent := choose(served, o.Set.Templates)
	for _, name := range absent {
		r.fail("%s: the cluster serves no such API", name)
	}
	for _, resource := range resources {
		if err := r.read(ctx, resource); err != nil {
			return r.contents, err
		}
	}
	r.contents.Facts.finish()
	return r.contents, nil
}

// reader has the state of one read of a cluster.
type reader struct {
	client   dynamic.Interface
	options  Options
	contents Contents
	// taken are the UIDs of the objects that were read, including those that are skipped because their owner was read.
	taken map[types.UID]struct{}
}

func (r *reader) fail(format string, args ...any) {
	r.contents.Unread = append(r.contents.Unread, fmt.Errorf(format, args...))
}

// read lists a kind. It returns an error only if reading other kinds would be pointless.
func (r *reader) read(ctx context.Context, resource resource) error {
	count := len(r.contents.Set.Objects)
	err := r.list(ctx, resource)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, lint.ErrFull):
		r.fail("%s: %w; what follows was not read: name one namespace (-n)", resource, err)
		return err
	case apierrors.IsForbidden(err):
		r.fail("%s: %w; docs/lint.md has the rights that reading needs", resource, err)
	case err != nil:
		r.fail("%s: %w", resource, err)
		if _, answered := errors.AsType[*apierrors.StatusError](err); !answered {
			return fmt.Errorf("the cluster does not answer any more; what follows %s was not read", resource)
		}
	case resource.is("", "namespaces") && r.options.Namespace != "" && len(r.contents.Set.Objects) == count:
		r.fail("the cluster has no namespace %s", r.options.Namespace)
	}
	return nil
}

// list reads the pages of a kind. A continue token expires, after some minutes, when the API server drops the state in
// which the list began; the error then contains a new token, which continues the list in the current state. Source:
// kubernetes.io/docs/reference/using-api/api-concepts, retrieving large results sets in chunks.
func (r *reader) list(ctx context.Context, resource resource) error {
	lister := dynamic.ResourceInterface(r.client.Resource(resource.GroupVersionResource))
	options := metav1.ListOptions{Limit: pageSize}
	switch namespace := r.options.Namespace; {
	case namespace != "" && resource.is("", "namespaces"):
		options.FieldSelector = "metadata.name=" + namespace
	case resource.namespaced:
		lister = r.client.Resource(resource.GroupVersionResource).Namespace(namespace)
	}
	for stale := 0; ; {
		page, err := lister.List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" && stale < maxStale {
			stale++
			options.Continue = successor(err)
			continue
		}
		if err != nil {
			return err
		}
		before := len(r.taken)
		for i := range page.Items {
			if err := r.take(resource, &page.Items[i]); err != nil {
				return err
			}
		}
		if len(r.taken) > before {
			stale = 0
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// successor returns the new continue token in the error about an expired one; "" if the list has to start again.
func successor(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return ""
	}
	return status.ErrStatus.Continue
}

// take adds an object, unless it was read before, its owner was read, or it is being deleted.
func (r *reader) take(resource resource, object *unstructured.Unstructured) error {
	if _, again := r.taken[object.GetUID()]; again {
		return nil
	}
	r.taken[object.GetUID()] = struct{}{}
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		if _, speaks := r.taken[owner.UID]; speaks {
			return nil
		}
	}
	if resource.is("", "nodes") {
		r.contents.Facts.node(object)
		if object.GetLabels()[lint.LabelOS] != "windows" {
			return nil // rules only need to know whether a node is a Windows node
		}
	}
	return r.contents.Set.Add(trim(resource, object), r.options.Set)
}

// trim drops the fields that no rule examines, which are the larger part of most objects.
func trim(resource resource, object *unstructured.Unstructured) map[string]any {
	content := object.Object
	delete(content, "status")
	if resource.is("", "nodes") {
		delete(content, "spec")
	}
	unstructured.RemoveNestedField(content, "metadata", "managedFields")
	unstructured.RemoveNestedField(content, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	return content
}

// serve returns the listable resources of the APIs, each in its preferred version. If some APIs do not respond, it
// returns the resources of the others and an error.
func serve(client discovery.DiscoveryInterface) ([]*metav1.APIResourceList, error) {
	lists, err := client.ServerPreferredResources()
	for _, list := range lists {
		list.APIResources = slices.DeleteFunc(list.APIResources, func(r metav1.APIResource) bool {
			return strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list")
		})
	}
	return lists, err
}
