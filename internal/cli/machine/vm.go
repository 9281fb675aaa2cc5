package machine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"

	"casement.dev/casement/internal/azure/rescue"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sshroute"
)

// vm returns a machine's VM: in the local Azure if the management cluster is the local plane, otherwise in Azure with
// the user's own login.
func vm(ctx context.Context, a *app.App, t app.Target, r sshroute.Route) (rescue.VM, error) {
	if r.VM == "" {
		return rescue.VM{}, fmt.Errorf("machine %s has no VM yet; see what it waits for: casement why %s", r.Machine, r.Machine)
	}
	vm := rescue.VM{HTTP: http.DefaultClient, ID: r.VM, Windows: r.Windows}
	if a.AsksPlane(t.Kubeconfig) {
		plane, err := plane.NewClient(a.Dir).Status(ctx)
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
	azure, err := azureCluster(ctx, a, t, r)
	if err != nil {
		return vm, err
	}
	_, rest, _ := strings.Cut(r.VM, "/subscriptions/")
	subscription, _, _ := strings.Cut(rest, "/")
	vm.Client, err = rescue.Login(azure.Spec.AzureEnvironment, subscription)
	return vm, err
}
