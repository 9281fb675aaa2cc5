// Package kinds has the kinds that a management cluster serves, for tests that need a real API server with them and no
// managers. It refuses to start anything. Tests below test/apiserver import it.
package kinds

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/testing/kubetest"
)

// Install makes a server serve casement's and Cluster API's kinds, and those in more.
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
