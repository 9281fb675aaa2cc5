package kubeproc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientset "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// startWithCRDs writes Config.CRDs into a new etcd, and waits until the API server serves administrators and the CRDs.
func (p *Plane) startWithCRDs(ctx context.Context, fresh bool) error {
	crds, err := p.cfg.CRDs(p.keys.caCert)
	if err != nil {
		return err
	}
	if fresh {
		if err := p.seed(ctx, crds); err != nil {
			return err
		}
	}
	if err := p.await(ctx, roleHook, priorityHook); err != nil {
		return err
	}
	if !fresh {
		return InstallCRDs(ctx, p.Config(), crds)
	}
	client, err := crdClient(p.Config())
	if err != nil {
		return err
	}
	return awaitServed(ctx, client, crds)
}

// InstallCRDs creates the CRDs, or replaces the specs of existing ones, and then waits until the API server serves all
// of them, or until ctx ends. Other labels and annotations of existing CRDs are kept.
func InstallCRDs(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := crdClient(cfg)
	if err != nil {
		return err
	}
	err = each(ctx, crds, func(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
		return install(ctx, client.ApiextensionsV1().CustomResourceDefinitions(), crd)
	})
	if err != nil {
		return err
	}
	return awaitServed(ctx, client, crds)
}

// each installs the CRDs, four at a time.
func each(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition,
	install func(context.Context, *apiextensionsv1.CustomResourceDefinition) error) error {
	group, installing := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, crd := range crds {
		group.Go(func() error {
			if err := install(installing, crd); err != nil {
				return fmt.Errorf("install CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// defaulted returns a CRD with the API server's defaults, and with the status of a new one.
func defaulted(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	return crd
}

// crdClient returns a client for CRDs that uses protobuf: CRD schemas are large, and decoding protobuf takes a fraction
// of the time of JSON.
func crdClient(cfg *rest.Config) (clientset.Interface, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = runtime.ContentTypeProtobuf
	return clientset.NewForConfig(cfg)
}

// install creates a CRD, or updates the existing one if it differs. It does not use server-side apply,
// because the API server then computes the owner of each field of a schema.
func install(ctx context.Context, client crdclient.CustomResourceDefinitionInterface, crd *apiextensionsv1.CustomResourceDefinition) error {
	crd = defaulted(crd)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := client.Get(ctx, crd.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.Create(ctx, crd, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		next := live.DeepCopy()
		next.Spec = crd.Spec
		next.Labels, next.Annotations = labels.Merge(live.Labels, crd.Labels), labels.Merge(live.Annotations, crd.Annotations)
		if equality.Semantic.DeepEqual(live, next) {
			return nil
		}
		_, err = client.Update(ctx, next, metav1.UpdateOptions{})
		return err
	})
}

// awaitServed waits until the API server serves all versions of the CRDs. It reads the discovery documents, which are
// small; it reads a CRD with its schema only if the CRD is not served for a while.
func awaitServed(ctx context.Context, client clientset.Interface, crds []*apiextensionsv1.CustomResourceDefinition) error {
	away := map[schema.GroupVersion][]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			if v.Served {
				gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
				away[gv] = append(away[gv], crd)
			}
		}
	}
	tick, check := time.NewTicker(20*time.Millisecond), time.NewTicker(time.Second)
	defer tick.Stop()
	defer check.Stop()
	for {
		for gv, kinds := range away {
			served, err := client.Discovery().ServerResourcesForGroupVersion(gv.String())
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("ask for the kinds of %s: %w", gv, err)
			}
			kinds = slices.DeleteFunc(kinds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
				return served != nil && slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool {
					return r.Name == crd.Spec.Names.Plural
				})
			})
			if away[gv] = kinds; len(kinds) == 0 {
				delete(away, gv)
			}
		}
		if len(away) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server does not serve %v: %w", slices.Collect(maps.Keys(away)), ctx.Err())
		case <-check.C:
			for _, kinds := range away {
				for _, crd := range kinds {
					if err := refused(ctx, client, crd.Name); err != nil {
						return fmt.Errorf("install CRD %s: %w", crd.Name, err)
					}
				}
			}
		case <-tick.C:
		}
	}
}

// refused returns the reason why the API server will not serve a CRD; nil while it still may.
func refused(ctx context.Context, client clientset.Interface, name string) error {
	live, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range live.Status.Conditions {
		if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
			return fmt.Errorf("its names are taken: %s", c.Message)
		}
	}
	return nil
}
