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

// InstallCRDs applies the CRDs in parallel and waits until all are established, or until
// ctx ends.
func InstallCRDs(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, crd := range crds {
		group.Go(func() error {
			if err := apply(ctx, client, crd); err != nil {
				return fmt.Errorf("install CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func apply(ctx context.Context, client clientset.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	crd = crd.DeepCopy()
	crd.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	data, err := json.Marshal(crd)
	if err != nil {
		return err
	}
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := crds.Patch(ctx, crd.Name, types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: "casement", Force: new(true)}); err != nil {
		return err
	}
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		live, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
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
