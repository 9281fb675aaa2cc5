package manager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// kindsRetry is the pause before the next check of an API server that lacks kinds.
const kindsRetry = time.Second

// needed returns all kinds of casement, and the kinds of Cluster API that the controllers
// watch.
func needed() (map[schema.GroupVersion][]string, error) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	out := map[schema.GroupVersion][]string{clusterv1.GroupVersion: {"Cluster", "Machine"}}
	types := scheme.KnownTypes(infrav1.GroupVersion)
	for kind := range types {
		if _, ok := types[kind+"List"]; ok {
			out[infrav1.GroupVersion] = append(out[infrav1.GroupVersion], kind)
		}
	}
	return out, nil
}

// awaitKinds waits until the API server serves all kinds that the controllers watch. An installer creates the
// CustomResourceDefinitions and the Deployment together, so the manager may start before the kinds exist.
func awaitKinds(ctx context.Context, cfg *rest.Config, log logr.Logger) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("find the management cluster's kinds: %w", err)
	}
	said := ""
	for {
		missing, err := missingKinds(client.ServerResourcesForGroupVersion)
		if err != nil {
			return fmt.Errorf("find the management cluster's kinds: %w", err)
		}
		if missing == nil {
			return nil
		}
		if now := strings.Join(missing, ", "); now != said {
			said = now
			log.Info("Waiting until the management cluster serves kinds; are the CustomResourceDefinitions installed?", "missing", missing)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(kindsRetry):
		}
	}
}

// missingKinds returns the needed kinds that an API server does not serve; served returns the resources of a version.
func missingKinds(served func(string) (*metav1.APIResourceList, error)) ([]string, error) {
	want, err := needed()
	if err != nil {
		return nil, err
	}
	var missing []string
	for version, kinds := range want {
		list, err := served(version.String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		for _, kind := range kinds {
			if err != nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind }) {
				missing = append(missing, version.WithKind(kind).GroupKind().String())
			}
		}
	}
	slices.Sort(missing)
	return missing, nil
}
