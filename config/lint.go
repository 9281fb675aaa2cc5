package config

import (
	"bytes"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"
)

// The names that lint/manager.yaml has.
const (
	lintName   = "casement-lint"
	lintSecret = "casement-lint-cert"
)

// lintCertLife is how long the certificate of a webhook without cert-manager lasts.
const lintCertLife = 10 * 365 * 24 * time.Hour

// LintWebhook returns the webhook configuration of the workload rules, which refers to
// a service.
func LintWebhook() (*admissionv1.ValidatingWebhookConfiguration, error) {
	out := &admissionv1.ValidatingWebhookConfiguration{}
	return out, read("lint/webhook.yaml", out)
}

// LintComponents returns what the webhook of the workload rules needs in a cluster of
// which casement manages nothing, as one YAML stream: a manager from image that does
// nothing else, its rights, its certificate and the webhook configuration. With
// certManager that makes the certificate; else one is made here, and the stream holds
// its private key.
func LintComponents(image string, certManager bool) ([]byte, error) {
	data, err := files.ReadFile("lint/manager.yaml")
	if err != nil {
		return nil, err
	}
	_, data, _ = bytes.Cut(data, []byte("\n")) // what the file is
	hook, err := LintWebhook()
	if err != nil {
		return nil, err
	}
	hook.Name = lintName
	service := hook.Webhooks[0].ClientConfig.Service
	service.Namespace, service.Name = lintName, lintName
	parts := [][]byte{bytes.Replace(data, []byte("image: IMAGE"), []byte("image: "+image), 1)}
	if certManager {
		hook.Annotations = map[string]string{"cert-manager.io/inject-ca-from": lintName + "/" + lintSecret}
		parts = append(parts, fmt.Appendf(nil, lintIssuer, lintName, lintSecret))
	} else {
		secret, err := lintCertificate()
		if err != nil {
			return nil, err
		}
		hook.Webhooks[0].ClientConfig.CABundle = secret.Data[corev1.TLSCertKey]
		text, err := yaml.Marshal(secret)
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	text, err := yaml.Marshal(hook)
	return bytes.Join(append(parts, text), []byte("---\n")), err
}

// lintIssuer is cert-manager's part, of a namespace and service, and a secret.
const lintIssuer = `apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: %[1]s
  namespace: %[1]s
spec:
  selfSigned: {}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: %[2]s
  namespace: %[1]s
spec:
  dnsNames:
  - %[1]s.%[1]s.svc
  issuerRef:
    kind: Issuer
    name: %[1]s
  secretName: %[2]s
`

// lintCertificate is a certificate of the service, with its own authority.
func lintCertificate() (*corev1.Secret, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: lintName + "." + lintName + ".svc", MaxAge: lintCertLife})
	if err != nil {
		return nil, fmt.Errorf("make the webhook's certificate: %w", err)
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: lintName, Name: lintSecret},
		Type:       corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}, nil
}
