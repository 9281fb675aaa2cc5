package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/bastion"
	"casement.dev/casement/internal/azure/rescue"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sshroute"
)

// bastionVersion is the API version for reading Bastion hosts.
const bastionVersion = "2024-05-01"

// tunnel returns a dialer through the cluster's Azure Bastion host; nil if the user selects another way to the machine
// or the AzureCluster declares no Bastion host with tunneling enabled.
func tunnel(ctx context.Context, a *app.App, w Way, r sshroute.Route) (func(context.Context, string, string) (net.Conn, error), error) {
	if w.jump != "" && w.jump != sshroute.Bastion {
		return nil, nil
	}
	azure, err := azureCluster(ctx, a, w.Target, r)
	if err != nil {
		return nil, err
	}
	declared := azure.Spec.BastionSpec.AzureBastion
	if declared == nil || !declared.EnableTunneling {
		if w.jump == sshroute.Bastion {
			return nil, fmt.Errorf("AzureCluster %s declares no Bastion host that tunnels: set "+
				"spec.bastionSpec.azureBastion with sku Standard and enableTunneling", azure.Name)
		}
		return nil, nil
	}
	vm, err := vm(ctx, a, w.Target, r)
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/bastionHosts/%s",
		vm.Client.SubscriptionID(), azure.Spec.ResourceGroup, declared.Name)
	raw, err := vm.Client.Get(ctx, id, bastionVersion)
	if err != nil {
		return nil, fmt.Errorf("read the Bastion host of cluster %s: %w; name another way in with --jump", r.Cluster.Name, err)
	}
	var host struct{ Properties struct{ DNSName string } }
	if err := json.Unmarshal(raw, &host); err != nil || host.Properties.DNSName == "" {
		return nil, fmt.Errorf("the Bastion host %s has no name yet (properties.dnsName); name another way in with --jump", declared.Name)
	}
	through, err := bastionHost(ctx, a, w.Target, azure, host.Properties.DNSName)
	return through.Dial, err
}

// bastionHost returns the Bastion host with a name, from the local Azure or, with the user's own login, from Azure.
func bastionHost(ctx context.Context, a *app.App, t app.Target, azure *infrav1.AzureCluster, dnsName string) (bastion.Host, error) {
	if a.AsksPlane(t.Kubeconfig) {
		plane, err := plane.NewClient(a.Dir).Status(ctx)
		if err != nil {
			return bastion.Host{}, err
		}
		return plane.Azure.Bastion(dnsName)
	}
	where, credential, err := rescue.Credential(azure.Spec.AzureEnvironment)
	return bastion.Host{DNSName: dnsName, Credential: credential, Scope: where.Services[cloud.ResourceManager].Audience + "/.default"}, err
}

// azureCluster returns the AzureCluster of a machine's cluster.
func azureCluster(ctx context.Context, a *app.App, t app.Target, r sshroute.Route) (*infrav1.AzureCluster, error) {
	c, err := a.Client(t)
	if err != nil {
		return nil, err
	}
	cluster, azure := &clusterv1.Cluster{}, &infrav1.AzureCluster{}
	if err := c.Get(ctx, r.Cluster, cluster); err != nil {
		return nil, err
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: r.Cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}, azure); err != nil {
		return nil, fmt.Errorf("infrastructure of cluster %s: %w", r.Cluster.Name, err)
	}
	return azure, nil
}
