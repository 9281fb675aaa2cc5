package azure

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/identity"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/plane"
)

// Account selects the Azure subscription that a command queries, by the usual flags.
type Account struct {
	app.Target
	Azure, Identity, Subscription string
}

// AccountHelp is the part of a command's help that explains the flags of Account.
const AccountHelp = `Azure is asked as --identity says, an AzureClusterIdentity of the management
cluster; else as AZURE_SUBSCRIPTION_ID and the other variables of the Azure SDKs say,
or as az is logged in for --subscription; else it is the local plane's.`

func (t *Account) AddFlags(c *cobra.Command) {
	t.Target.AddFlags(c)
	f := c.Flags()
	f.StringVar(&t.Azure, "azure", "auto", "which Azure to ask: auto, local (the local plane's) or env (environment or az login)")
	f.StringVar(&t.Identity, "identity", "", "AzureClusterIdentity to ask as, NAME or NAMESPACE/NAME in the management cluster")
	f.StringVar(&t.Subscription, "subscription", "", "subscription to ask (default $AZURE_SUBSCRIPTION_ID)")
}

// Asked is an Azure client, and the name that messages use for its Azure.
type Asked struct {
	Client *arm.Client
	Name   string
}

// Open returns a client for the account. It sends no request to Azure yet.
func Open(ctx context.Context, a *app.App, t Account) (Asked, error) {
	environment, subscription, source, where := identity.Ambient(os.Getenv)
	if t.Subscription != "" {
		subscription = t.Subscription
	}
	switch {
	case t.Azure != "auto" && t.Azure != "local" && t.Azure != "env":
		return Asked{}, app.Usagef("--azure is auto, local or env, not %q", t.Azure)
	case t.Identity != "" && t.Azure != "auto":
		return Asked{}, app.Usagef("--identity and --azure say different things: give one of them")
	case t.Identity != "":
		return openIdentity(ctx, a, t, environment, subscription, where)
	case t.Azure == "local" || t.Azure == "auto" && subscription == "":
		return openLocal(ctx, a, t)
	case subscription == "":
		return Asked{}, app.Usagef("no subscription to ask: set AZURE_SUBSCRIPTION_ID or give --subscription")
	}
	client, err := clouds(environment, where).Client(environment, subscription, source)
	if err != nil {
		return Asked{}, fmt.Errorf("log in to %s by the environment (%s): %w", environment, source.Type, err)
	}
	return Asked{client, azureName(environment, where) + ", subscription " + subscription}, nil
}

func azureName(environment string, where identity.Cloud) string {
	if where.ResourceManagerEndpoint != "" {
		return where.ResourceManagerEndpoint
	}
	return environment
}

func clouds(environment string, where identity.Cloud) *identity.Pool {
	return identity.New(identity.Config{Clouds: map[string]identity.Cloud{environment: where}})
}

// localCloud returns the endpoints of a local Azure as a cloud configuration.
func localCloud(z plane.Azure) identity.Cloud {
	return identity.Cloud{AuthorityHost: z.Endpoint, ResourceManagerEndpoint: z.Endpoint, CAFile: z.CAFile, DisableInstanceDiscovery: true}
}

func openLocal(ctx context.Context, a *app.App, t Account) (Asked, error) {
	status, err := azureStatus(ctx, a)
	if err != nil && t.Azure == "auto" {
		return Asked{}, fmt.Errorf("no Azure to ask: set AZURE_SUBSCRIPTION_ID, or give --subscription or --identity; %w", err)
	} else if err != nil {
		return Asked{}, err
	}
	client, err := status.Azure.ARM()
	return Asked{client, "the local Azure (simulated)"}, err
}

// openIdentity returns a client that logs in with an AzureClusterIdentity, as the manager does for a cluster with that
// identity.
func openIdentity(ctx context.Context, a *app.App, t Account, environment, subscription string, where identity.Cloud) (Asked, error) {
	kube, err := a.Client(t.Target)
	if err != nil {
		return Asked{}, err
	}
	namespace, name, ok := strings.Cut(t.Identity, "/")
	if !ok {
		namespace, name = t.Namespace, t.Identity
	}
	if a.OfPlane(t.Target) {
		status, err := azureStatus(ctx, a)
		if err != nil {
			return Asked{}, fmt.Errorf("identity %s/%s is one of the local plane, which logs in to its own Azure alone: %w", namespace, name, err)
		}
		environment, where = identity.PublicCloud, localCloud(status.Azure)
		where.Local = &identity.Local{}
		if subscription == "" {
			subscription = status.Azure.SubscriptionID
		}
	} else if err := refuseLocal(ctx, kube, client.ObjectKey{Namespace: namespace, Name: name}); err != nil {
		return Asked{}, err
	}
	if subscription == "" {
		return Asked{}, app.Usagef("--identity needs --subscription")
	}
	cluster := &infrav1.AzureCluster{}
	cluster.Namespace = t.Namespace
	cluster.Spec.SubscriptionID, cluster.Spec.AzureEnvironment = subscription, environment
	cluster.Spec.IdentityRef = &corev1.ObjectReference{Namespace: namespace, Name: name}
	source, err := credential.NewReader(kube, nil, credential.AsReader{}).Source(ctx, cluster)
	if err != nil {
		return Asked{}, fmt.Errorf("ask Azure as AzureClusterIdentity %s/%s: %w", namespace, name, err)
	}
	pool := identity.New(identity.Config{Clouds: map[string]identity.Cloud{environment: where}})
	client, err := pool.Client(environment, subscription, source)
	if err != nil {
		return Asked{}, credential.Unusable(cluster, err)
	}
	return Asked{client, fmt.Sprintf("%s as %s/%s, subscription %s", azureName(environment, where), namespace, name, subscription)}, nil
}

// localTenant is the tenant of every local Azure. No directory of Microsoft Entra ID has it.
const localTenant = "00000000-0000-0000-0000-0000000000a0"

// refuseLocal returns an error for an identity of a local plane that was read other than through its state directory,
// such as with a copy of its kubeconfig: its secret is for that plane's Azure only, and must not be sent to another
// one.
func refuseLocal(ctx context.Context, c client.Client, key client.ObjectKey) error {
	var found infrav1.AzureClusterIdentity
	if err := c.Get(ctx, key, &found); err != nil || !strings.EqualFold(found.Spec.TenantID, localTenant) {
		return nil // the command that opens the file reports the error
	}
	return fmt.Errorf("AzureClusterIdentity %s is of a local plane (spec.tenantID %s), and nothing of one leaves this machine: "+
		"name the plane's state directory with --state", key, localTenant)
}
