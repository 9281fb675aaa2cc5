// Package kinds installs the kinds of a management cluster, for tests that need a real API server
// with these kinds and without managers. It starts nothing. Tests below test/apiserver import it.
package kinds

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/testing/kubetest"
)

// Install installs the CRDs of casement and Cluster API, and the CRDs in more, on an API server,
// and waits until they are served.
func Install(server *rest.Config, more ...*apiextensionsv1.CustomResourceDefinition) error {
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	providers, err := capi.Manifests("127.0.0.1", capi.Ports{}, nil, false)
	if err != nil {
		return err
	}
	for _, p := range providers {
		crds = append(crds, p.CRDs...)
	}
	return kubetest.InstallCRDs(context.Background(), server, append(crds, more...))
}
