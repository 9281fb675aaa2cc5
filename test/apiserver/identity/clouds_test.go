package identity

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/webhook"
)

// TestOneManagerInTwoClouds configures one manager with two clouds, and checks that the resource
// group of each of two clusters is created in the cloud of that cluster.
func TestOneManagerInTwoClouds(t *testing.T) {
	const stack = "Stack"
	home, homeAt := azure(t, publicTenant, publicSub, azuresim.Client{ID: "app", Secret: "good-secret"})
	abroad, abroadAt := azure(t, chinaTenant, chinaSub, azuresim.Client{ID: "app", Secret: "other-good-secret"})
	authorities := ""
	for _, file := range []string{homeAt.CAFile, abroadAt.CAFile} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		authorities += string(data)
	}
	start(t, "--azure-ca-file="+write(t, "ca.pem", authorities),
		"--azure-cloud=AzurePublicCloud="+homeAt.ResourceManagerEndpoint+","+homeAt.AuthorityHost,
		"--azure-cloud="+stack+"="+abroadAt.ResourceManagerEndpoint+","+abroadAt.AuthorityHost)

	for _, c := range []struct {
		name, tenant, secret, environment, subscription string
		in, out                                         *azuresim.Azure
	}{
		{"at-home", publicTenant, "good-secret", "AzurePublicCloud", publicSub, home, abroad},
		{"abroad", chinaTenant, "other-good-secret", stack, chinaSub, abroad, home},
	} {
		s := stage(t, nil, infrav1.AzureClusterIdentitySpec{Type: infrav1.ServicePrincipal, ClientID: "app",
			TenantID: c.tenant, AllowedNamespaces: &infrav1.AllowedNamespaces{}},
			map[string]string{"clientSecret": c.secret})
		meta := metav1.ObjectMeta{Namespace: s.identity.Namespace, Name: c.name, Labels: map[string]string{clusterv1.ClusterNameLabel: c.name}}
		cluster := &clusterv1.Cluster{ObjectMeta: meta, Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "AzureCluster", Name: c.name,
			},
		}}
		s.create(cluster)
		meta.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: c.name, UID: cluster.UID},
		}
		spec := s.cluster.Spec
		spec.IdentityRef.Kind, spec.ControlPlaneEnabled = "AzureClusterIdentity", true
		spec.Location, spec.ResourceGroup, spec.AzureEnvironment, spec.SubscriptionID = "westeurope", c.name, c.environment, c.subscription
		azureCluster := defaulted(t, &infrav1.AzureCluster{ObjectMeta: meta, Spec: spec})
		s.create(azureCluster)
		group := func(of *azuresim.Azure) bool {
			return slices.ContainsFunc(of.Resources(), func(id string) bool {
				return strings.HasSuffix(strings.ToLower(id), "/resourcegroups/"+c.name)
			})
		}
		if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			return group(c.in), nil
		}); err != nil {
			t.Errorf("cluster %s has no group in %s: %v, %v; %+v", c.name, c.environment, err,
				kubernetes.Get(t.Context(), client.ObjectKeyFromObject(azureCluster), azureCluster), azureCluster)
		}
		if group(c.out) {
			t.Errorf("cluster %s has a group in the other cloud", c.name)
		}
	}
}

// defaulted applies the defaults of admission to an AzureCluster, as no webhooks run in this test.
func defaulted(t *testing.T, c *infrav1.AzureCluster) client.Object {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	admission, err := webhook.Admit("AzureCluster", raw)
	if err != nil || len(admission.Errors) > 0 {
		t.Fatal(err, admission.Errors)
	}
	return admission.Object
}

// start runs a manager with command line arguments until the test ends.
func start(t *testing.T, args ...string) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	o := manager.Defaults()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags, func(string) string { return "" })
	if err := flags.Parse(append(args, "--metrics-bind-address=0", "--health-addr=0", "--webhook-port=0")); err != nil {
		t.Fatal(err)
	}
	mgr, err := manager.New(restConfig, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the manager: %v", err)
		}
	})
}
