// Package certmanager acts as cert-manager in a management cluster of the local plane: it issues
// the self-signed certificates of providers' webhooks and injects their CA certificates into
// webhook configurations and CRDs, as cert-manager's controller and cainjector do.
//
// It supports only issuers of type selfSigned and refuses others in a condition; it has no webhook,
// no ACME, no CertificateRequests. Only internal/plane and tests may import it.
package certmanager

import (
	"bytes"
	_ "embed"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"
)

//go:embed crds.yaml
var crds []byte

// injectAnnotation is the annotation with which an object requests the CA certificate of a
// Certificate, NAMESPACE/NAME. Source: cert-manager.io/docs/concepts/ca-injector.
const injectAnnotation = "cert-manager.io/inject-ca-from"

var group = schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}

// CRDs returns the CRDs that must be installed before the stub runs.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var out []*apiextensionsv1.CustomResourceDefinition
	for document := range bytes.SplitSeq(crds, []byte("\n---\n")) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(document, crd); err != nil {
			return nil, fmt.Errorf("embedded crds.yaml: %w", err)
		}
		out = append(out, crd)
	}
	return out, nil
}

// New returns the stub as a manager that the caller starts.
func New(cfg *rest.Config, log *slog.Logger) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, admissionv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Logger: logr.FromSlogHandler(log.Handler()), Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: new(true)},
		// Objects other than CRDs are read from the API server: the CRDs of Cluster API are
		// megabytes.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{
			&corev1.Secret{}, &apiextensionsv1.CustomResourceDefinition{},
			&admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{},
		}}},
	})
	if err != nil {
		return nil, fmt.Errorf("stub of cert-manager: %w", err)
	}
	if err := (&issuer{client: mgr.GetClient()}).setUp(mgr); err != nil {
		return nil, err
	}
	if err := (&certificate{client: mgr.GetClient()}).setUp(mgr); err != nil {
		return nil, err
	}
	return mgr, setUpInjectors(mgr)
}

// object returns an empty object of a kind of cert-manager.
func object(kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(group.WithKind(kind))
	return u
}
