//go:build !client

package check

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"casement.dev/casement/internal/capi/topology"
)

// render renders a Cluster from its class with Cluster API's own code.
func render(ctx context.Context, cluster *unstructured.Unstructured, all []*unstructured.Unstructured) (rendered, error) {
	made, err := topology.Render(ctx, cluster, all)
	return rendered{class: made.Class, objects: made.Objects, refused: made.Refused}, err
}
