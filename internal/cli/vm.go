package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/rescue"
	"casement.dev/casement/internal/local"
	"casement.dev/casement/internal/reach"
)

// vm is a machine's VM in the local Azure, where the management cluster is the
// local plane's, or in Azure as the user himself.
func (a *app) vm(ctx context.Context, t target, r reach.Route) (rescue.VM, error) {
	if r.VM == "" {
		return rescue.VM{}, fmt.Errorf("machine %s has no VM yet; see what it waits for: casement why %s", r.Machine, r.Machine)
	}
	vm := rescue.VM{HTTP: http.DefaultClient, ID: r.VM, Windows: r.Windows}
	if a.asksPlane(t.kubeconfig) {
		plane, err := local.NewClient(a.dir).Status(ctx)
		if err != nil {
			return vm, err
		}
		pem, err := os.ReadFile(plane.Azure.CAFile)
		if err != nil {
			return vm, fmt.Errorf("the local Azure's certificate: %w", err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		vm.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
		vm.Client, err = plane.Azure.ARM()
		return vm, err
	}
	c, err := a.client(t)
	if err != nil {
		return vm, err
	}
	cluster, azure := &clusterv1.Cluster{}, &infrav1.AzureCluster{}
	if err := c.Get(ctx, r.Cluster, cluster); err != nil {
		return vm, err
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: r.Cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}, azure); err != nil {
		return vm, fmt.Errorf("infrastructure of cluster %s: %w", r.Cluster.Name, err)
	}
	_, rest, _ := strings.Cut(r.VM, "/subscriptions/")
	subscription, _, _ := strings.Cut(rest, "/")
	vm.Client, err = rescue.Login(azure.Spec.AzureEnvironment, subscription)
	return vm, err
}
