package kubeproc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientset "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// InstallCRDs applies the CRDs in parallel, and then waits until all are established, or
// until ctx ends: most are by then, so that one question for each is enough.
func InstallCRDs(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, clientset.Interface, *apiextensionsv1.CustomResourceDefinition) error{
		apply, awaitEstablished,
	} {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(4)
		for _, crd := range crds {
			group.Go(func() error {
				if err := step(ctx, client, crd); err != nil {
					return fmt.Errorf("install CRD %s: %w", crd.Name, err)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, client clientset.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	crd = crd.DeepCopy()
	crd.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	data, err := json.Marshal(crd)
	if err != nil {
		return err
	}
	_, err = client.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, crd.Name, types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: "casement", Force: new(true)})
	return err
}

// awaitEstablished waits until the API server serves a CRD.
func awaitEstablished(ctx context.Context, client clientset.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		live, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range live.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
			if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
				return fmt.Errorf("its names are taken: %s", c.Message)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not established: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
