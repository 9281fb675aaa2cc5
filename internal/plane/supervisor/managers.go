package supervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/helm/v1alpha1"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sim/proxy"
)

// startManagers runs Cluster API and casement, restarts them when they end, and returns when they serve.
func (s *supervisor) startManagers(ctx context.Context, _ chan<- error) (func(context.Context), error) {
	if err := capi.EnableFeatures(s.opts.FeatureGates, s.opts.Upstream); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(ctx)
	serving, ended := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(serving) })
	go func() {
		defer close(ended)
		s.revive(run, "Cluster API and casement", func(ctx context.Context) error { return s.runManagers(ctx, first) })
	}()
	end := func(ctx context.Context) {
		stop()
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
	select {
	case <-serving:
	case <-ctx.Done():
		return end, ctx.Err()
	}
	return end, s.management.plane.StartControllerManager(ctx)
}

// runManagers installs the CRDs unless the API server started with them, runs the managers, installs the webhook
// configurations once the webhooks respond, and calls serving. It returns when a manager or ctx ends, after all
// managers have ended.
func (s *supervisor) runManagers(ctx context.Context, serving func()) error {
	plane := s.management.plane
	caCert, caKey := plane.CA()
	kinds := s.management.kinds
	s.management.kinds = nil
	if kinds == nil {
		var err error
		if kinds, err = newKinds(caCert, s.opts.Upstream); err != nil {
			return err
		}
		if err := kubeproc.InstallCRDs(ctx, plane.Config(), kinds.crds); err != nil {
			return err
		}
	}
	ports := kinds.ports
	certificate, err := webhookCertificate(planeHost, caCert, caKey)
	if err != nil {
		return fmt.Errorf("make the webhooks' certificate: %w", err)
	}
	if err := s.bindRights(ctx); err != nil {
		return err
	}
	federated, unfederate := context.WithCancel(ctx)
	defer unfederate()
	if s.opts.Outside == nil {
		if err := s.federate(federated); err != nil {
			return err
		}
	}
	// casement's manager uses discovery, which the default roles permit.
	if err := plane.AwaitReady(ctx); err != nil {
		return err
	}
	managers, err := s.managers(ctx, ports, certificate)
	if err != nil {
		return err
	}
	charts, err := s.installAddons(managers[0])
	if err != nil {
		return fmt.Errorf("set up the addons: %w", err)
	}
	defer charts.stop(ctx)
	group, run := errgroup.WithContext(ctx)
	for _, m := range managers {
		group.Go(func() error {
			if err := m.Start(run); err != nil {
				return fmt.Errorf("a manager ended: %w", err)
			}
			return nil
		})
	}
	group.Go(func() error {
		for _, port := range []int{ports.Core, ports.Bootstrap, ports.ControlPlane, ports.casement} {
			if err := awaitTLS(run, port, caCert); err != nil {
				return err
			}
		}
		if err := s.installRequests(run, kinds.providers, ports, caCert); err != nil {
			return err
		}
		serving()
		return nil
	})
	return group.Wait()
}

// managers returns Cluster API's three managers, the core first, and casement's manager, which uses the local Azure
// only because of its configuration.
func (s *supervisor) managers(ctx context.Context, ports webhookPorts, certificate *tls.Certificate) ([]ctrl.Manager, error) {
	plane := s.management.plane
	admin, err := plane.ConfigFor(capi.User, kubeproc.Administrators)
	if err != nil {
		return nil, err
	}
	managers, err := capi.New(ctx, capi.Config{REST: admin, Upstream: s.opts.Upstream, WebhookHost: planeHost, Certificate: certificate,
		Ports: ports.Ports})
	if err != nil {
		return nil, err
	}
	o := manager.Defaults()
	o.MetricsAddress, o.HealthAddress = "0", "0"
	o.WebhookHost, o.WebhookPort, o.WebhookCertificate = planeHost, ports.casement, certificate
	o.SkipNameValidation = true
	o.FeatureGates = map[string]bool{string(manager.PatchDay): true} // a pool without its annotations is not changed
	// casement's manager has only the permissions that it has in production.
	limited, err := plane.ConfigFor(config.User)
	if err != nil {
		return nil, err
	}
	o.Azure = s.managerAzure()
	ours, err := manager.New(limited, o)
	if err != nil {
		return nil, err
	}
	cl, err := s.planeClient()
	if err != nil {
		return nil, err
	}
	// The plane's own controllers run in the process of Cluster API's core.
	core := managers[0]
	s.mu.Lock()
	s.machineEvents = &machineEvents{cl, core.GetEventRecorder("casement-plane")}
	s.mu.Unlock()
	if s.opts.Outside == nil {
		gateway := proxy.URL(strings.TrimPrefix(s.azure.gateway, "http://"), s.azure.server.Client().Secret)
		if err := (&gatewayWriter{client: cl, url: gateway}).setUp(core); err != nil {
			return nil, err
		}
	}
	return append(managers, ours), nil
}

// installAddons adds the controllers that offer and install addons to the core's manager, and returns the chart
// installer, which the caller has to stop.
func (s *supervisor) installAddons(core ctrl.Manager) (*chartInstaller, error) {
	if err := v1alpha1.AddToScheme(core.GetScheme()); err != nil {
		return nil, err
	}
	cl, err := s.planeClient()
	if err != nil {
		return nil, err
	}
	if err := (&addonInstaller{client: cl, cache: core.GetClient(), offered: map[string]bool{}}).setUp(core); err != nil {
		return nil, err
	}
	charts, err := s.newChartInstaller(core.GetClient())
	if err != nil {
		return nil, err
	}
	return charts, charts.setUp(core)
}

// bindRights binds casement's manager to the role of an installation.
func (s *supervisor) bindRights(ctx context.Context) error {
	rights, err := config.Rights()
	if err != nil {
		return err
	}
	cl, err := s.planeClient()
	if err != nil {
		return err
	}
	for _, o := range rights {
		if err := applyObject(ctx, cl, o); err != nil {
			return fmt.Errorf("install %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// awaitTLS waits until a webhook server responds with a certificate of the CA (PEM), or until ctx ends. A server of
// another program on the port does not count.
func awaitTLS(ctx context.Context, port int, ca []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots}}
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(planeHost, strconv.Itoa(port)))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the webhook server on port %d does not answer: %w (%v)", port, context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// installRequests applies the webhook configurations and the plane's identity.
func (s *supervisor) installRequests(ctx context.Context, providers []capi.Provider, ports webhookPorts, ca []byte) error {
	mutating, validating, err := config.Webhooks()
	if err != nil {
		return err
	}
	lint, err := config.LintWebhook()
	if err != nil {
		return err
	}
	ours := capi.Provider{Mutating: []*admissionv1.MutatingWebhookConfiguration{mutating},
		Validating: []*admissionv1.ValidatingWebhookConfiguration{validating, lint}}
	capi.PointWebhooks("infrastructure-azure", fmt.Sprintf("https://%s:%d", planeHost, ports.casement), ca, ours.Mutating, ours.Validating)
	cl, err := s.planeClient()
	if err != nil {
		return err
	}
	var objects []client.Object
	for _, p := range append(providers, ours) {
		for _, w := range p.Mutating {
			objects = append(objects, w)
		}
		for _, w := range p.Validating {
			objects = append(objects, w)
		}
	}
	secret, err := s.status().Azure.ClientSecret()
	if err != nil {
		return err
	}
	objects = append(objects, planeIdentity(secret))
	for _, o := range objects {
		if err := applyObject(ctx, cl, o); err != nil {
			return fmt.Errorf("install %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// planeClient returns a client for the kinds that the plane itself writes.
func (s *supervisor) planeClient() (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, infrav1.AddToScheme, addonsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(s.management.plane.Config(), client.Options{Scheme: scheme})
}

// applyObject applies an object with server-side apply.
func applyObject(ctx context.Context, c client.Client, o client.Object) error {
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	o.SetManagedFields(nil)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	delete(content, "status")
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}),
		client.FieldOwner("casement"), client.ForceOwnership)
}

// planeIdentity returns the Secret with the client secret that the identities of templates use. Clusters in all
// namespaces may write the secret to their machines, because it only gives access to the plane's own Azure.
func planeIdentity(clientSecret string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: plane.IdentityNamespace, Name: plane.IdentitySecret,
			Labels:      map[string]string{"clusterctl.cluster.x-k8s.io/move": ""},
			Annotations: map[string]string{infrav1.ClientSecretNamespacesAnnotation: "*"}},
		StringData: map[string]string{"clientSecret": clientSecret},
	}
}
