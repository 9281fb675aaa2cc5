//go:build !linux || client

package check

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// render returns an error in the client program, which does not link Cluster API's topology engine: it would be a
// twentieth of the file.
func render(context.Context, *unstructured.Unstructured, []*unstructured.Unstructured) (rendered, error) {
	return rendered{}, errors.New("the client renders no ClusterClass; preflight of the program with the local plane, on Linux, does")
}
