package manager

import (
	"crypto/tls"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"casement.dev/casement/internal/webhook/certificate"
)

// webhookServer returns the admission server; nil if webhooks are disabled. Its certificate is the keeper's or the one
// in o, or it is read from a directory, again when it changes.
func webhookServer(o Options, keeper *certificate.Keeper) ctrlwebhook.Server {
	if o.WebhookPort == 0 {
		return nil
	}
	options := ctrlwebhook.Options{Host: o.WebhookHost, Port: o.WebhookPort, CertDir: o.WebhookCertDir, TLSOpts: tlsOptions(o)}
	if pair := o.WebhookCertificate; pair != nil {
		options.TLSOpts = append(options.TLSOpts, func(c *tls.Config) {
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair, nil }
		})
	}
	if keeper != nil {
		options.TLSOpts = append(options.TLSOpts, func(c *tls.Config) { c.GetCertificate = keeper.GetCertificate })
	}
	return ctrlwebhook.NewServer(options)
}

// tlsOptions returns the TLS options of the webhook server and the metrics server.
func tlsOptions(o Options) []func(*tls.Config) {
	if o.HTTP2 {
		return nil
	}
	return []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
}

// certificateKeeper returns the keeper of the self-signed webhook certificate that o requests; nil if the certificate
// is provided from outside.
func certificateKeeper(cfg *rest.Config, o Options, scheme *runtime.Scheme) (*certificate.Keeper, error) {
	if o.WebhookSelfSigned == "" || o.WebhookPort == 0 {
		return nil, nil
	}
	direct, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("set up the webhook certificate: %w", err)
	}
	service := key(o.WebhookService)
	host := service.Name + "." + service.Namespace + ".svc"
	return certificate.New(certificate.Config{
		Client: direct, Secret: key(o.WebhookSelfSigned), DNSNames: []string{host, host + ".cluster.local"},
		Mutating: o.WebhookConfigurations, Validating: o.WebhookConfigurations, Log: klog.Background().WithName("certificate"),
	}), nil
}

// key parses namespace/name, which Validate has checked.
func key(s string) client.ObjectKey {
	namespace, name, _ := strings.Cut(s, "/")
	return client.ObjectKey{Namespace: namespace, Name: name}
}
