package supervisor

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/helm/crds"
)

// kinds are the kinds that the managers serve, with the ports of their webhooks.
type kinds struct {
	ports     webhookPorts
	providers []capi.Provider
	crds      []*apiextensionsv1.CustomResourceDefinition
}

// webhookPorts are the ports of the four webhook servers.
type webhookPorts struct {
	capi.Ports
	casement int
}

// newKinds returns the kinds of casement, of Cluster API, and of its addon provider for Helm, for webhooks
// whose certificates are signed by ca (PEM). upstream leaves the kinds of Cluster API unchanged.
func newKinds(ca []byte, upstream bool) (*kinds, error) {
	ports, err := chooseWebhookPorts()
	if err != nil {
		return nil, err
	}
	providers, err := capi.Manifests(planeHost, ports.Ports, ca, upstream)
	if err != nil {
		return nil, err
	}
	all, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	for _, p := range providers {
		all = append(all, p.CRDs...)
	}
	charts, err := crds.All()
	if err != nil {
		return nil, err
	}
	all = append(all, charts...)
	labelForClusterctl(all)
	return &kinds{ports: ports, providers: providers, crds: all}, nil
}

// chooseWebhookPorts chooses the ports at each start, because the webhook configurations are also written at each
// start. If another program takes a port before its use, only that start fails.
func chooseWebhookPorts() (webhookPorts, error) {
	ports, err := freeport.Choose(planeHost, 4)
	if err != nil {
		return webhookPorts{}, err
	}
	return webhookPorts{Ports: capi.Ports{Core: ports[0], Bootstrap: ports[1], ControlPlane: ports[2]}, casement: ports[3]}, nil
}

// labelForClusterctl labels the kinds of Cluster API's providers like clusterctl's installation: its commands, and the
// graph of owners that a move follows, find kinds by this label.
func labelForClusterctl(crds []*apiextensionsv1.CustomResourceDefinition) {
	for _, crd := range crds {
		if crd.Labels[clusterv1.ProviderNameLabel] != "" {
			crd.Labels[clusterctlLabel] = ""
		}
	}
}

// clusterctlLabel is on everything that clusterctl installs.
// Source: cluster-api.sigs.k8s.io/developer/providers/contracts/clusterctl.
const clusterctlLabel = "clusterctl.cluster.x-k8s.io"
