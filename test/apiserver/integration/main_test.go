package integration

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/testing/kubetest"
)

// readTTL is short, so that the manager soon sees the changes that tests make directly in Azure.
const readTTL = 2 * time.Second

// world is shared by all tests: one API server, one Azure, one manager.
type world struct {
	config *rest.Config
	client client.Client
	azure  *azure
	// options are the manager's options.
	options manager.Options
	asked   *asked // requests of the manager
	// metrics is the host and port of the manager's metrics; webhooks is the URL of its webhooks.
	metrics, webhooks string
}

var shared *world

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	// Tests spend most of their time waiting, so more tests run in parallel than there are
	// processors.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	started := false
	dir, err := os.MkdirTemp("", "casement-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := kubetest.Main(m, func(plane *kubeproc.Plane) error {
		var err error
		shared, err = begin(ctx, plane, dir, ended)
		started = err == nil
		return err
	})
	cancel()
	if started {
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "manager:", err)
			code = 1
		}
		shared.azure.Close()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// begin installs the CRDs and starts Azure and the manager, whose files are in dir.
func begin(ctx context.Context, plane *kubeproc.Plane, dir string, ended chan<- error) (*world, error) {
	azure, err := newAzure(dir)
	if err != nil {
		return nil, err
	}
	o := manager.Defaults()
	ports, err := freeport.Choose("127.0.0.1", 2)
	if err != nil {
		return nil, err
	}
	o.MetricsAddress, o.HealthAddress = fmt.Sprintf("127.0.0.1:%d", ports[0]), "0"
	o.WebhookPort = ports[1]
	o.LeaderElection, o.LeaderElectionNamespace = true, "default"
	// The API server is ended before the manager. The long lease prevents the manager from exiting
	// because it cannot renew the lease.
	o.LeaseDuration, o.RenewDeadline = 5*time.Minute, 4*time.Minute
	o.Azure = manager.Azure{
		Endpoints: manager.Endpoints{
			AuthorityHost: azure.Cloud.AuthorityHost, ResourceManagerEndpoint: azure.Cloud.ResourceManagerEndpoint,
		},
		CAFile: azure.Cloud.CAFile,
	}
	o.ReadTTL, o.FeatureGates = readTTL, map[string]bool{string(manager.PatchDay): true}
	caBundle, err := webhookServer(dir, &o)
	if err != nil {
		return nil, err
	}
	cfg := rest.CopyConfig(plane.Config())
	cfg.QPS = -1
	if err := install(ctx, cfg, o, caBundle); err != nil {
		return nil, err
	}
	counted, counts := rest.CopyConfig(cfg), &asked{counts: map[string]map[string]int{}}
	counted.Wrap(counts.count)
	mgr, err := manager.New(counted, o)
	if err != nil {
		return nil, err
	}
	go func() { ended <- mgr.Start(ctx) }()
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	return &world{options: o, config: cfg, client: c, azure: azure, asked: counts, metrics: o.MetricsAddress,
		webhooks: fmt.Sprintf("https://127.0.0.1:%d", o.WebhookPort)}, err
}

// webhookServer writes a serving certificate and returns its CA bundle.
func webhookServer(dir string, o *manager.Options) (caBundle []byte, err error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	o.WebhookHost, o.WebhookCertDir = "127.0.0.1", dir
	return certificate, nil
}

// install creates the CRDs of Cluster API's core and of casement, and casement's webhook configurations.
func install(ctx context.Context, cfg *rest.Config, o manager.Options, caBundle []byte) error {
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	providers, err := capi.Manifests("127.0.0.1", capi.Ports{}, nil, false)
	if err != nil {
		return err
	}
	for _, p := range providers {
		for _, crd := range p.CRDs {
			if crd.Spec.Group == clusterv1.GroupVersion.Group {
				crd.Spec.Conversion = nil // the webhooks of the conversion do not run here
				crds = append(crds, crd)
			}
		}
	}
	if err := kubeproc.InstallCRDs(ctx, cfg, crds); err != nil {
		return err
	}
	mutating, validating, err := config.Webhooks()
	if err != nil {
		return err
	}
	capi.PointWebhooks("casement", fmt.Sprintf("https://127.0.0.1:%d", o.WebhookPort), caBundle,
		[]*admissionv1.MutatingWebhookConfiguration{mutating}, []*admissionv1.ValidatingWebhookConfiguration{validating})
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].NamespaceSelector = admitted()
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].NamespaceSelector = admitted()
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return err
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: grantNamespace}}); err != nil {
		return err
	}
	if err := c.Create(ctx, mutating); err != nil {
		return err
	}
	return c.Create(ctx, validating)
}

// grantNamespace is the manager's own namespace.
const grantNamespace = "casement-system"

// unadmitted is the label of namespaces for which the webhooks are not called.
const unadmitted = "integration.casement.dev/unadmitted"

// admitted selects all namespaces without the label unadmitted.
func admitted() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: unadmitted, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
}
