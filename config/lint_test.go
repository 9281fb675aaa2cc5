package config

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestLintComponents: what is printed goes together: the webhook names the service, and
// its certificate is good for that name, with either way to make one.
func TestLintComponents(t *testing.T) {
	for name, certManager := range map[string]bool{"self-signed": false, "cert-manager": true} {
		t.Run(name, func(t *testing.T) {
			text, err := LintComponents("example.com/manager:v1", certManager)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte("IMAGE")) || !bytes.Contains(text, []byte("image: example.com/manager:v1\n")) {
				t.Error("the image is not in its place")
			}
			var kinds []string
			var secret corev1.Secret
			var hook admissionv1.ValidatingWebhookConfiguration
			for document := range strings.SplitSeq(string(text), "---\n") {
				var o struct{ Kind string }
				if err := yaml.Unmarshal([]byte(document), &o); err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, o.Kind)
				switch o.Kind {
				case "Secret":
					err = yaml.UnmarshalStrict([]byte(document), &secret)
				case "ValidatingWebhookConfiguration":
					err = yaml.UnmarshalStrict([]byte(document), &hook)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			want := "Namespace ServiceAccount ClusterRole ClusterRoleBinding Service Deployment "
			if want += map[bool]string{false: "Secret ", true: "Issuer Certificate "}[certManager] + "ValidatingWebhookConfiguration"; strings.Join(kinds, " ") != want {
				t.Fatalf("%s, not %s", kinds, want)
			}
			w := hook.Webhooks[0]
			if s := w.ClientConfig.Service; s.Namespace != lintName || s.Name != lintName || *w.FailurePolicy != admissionv1.Ignore {
				t.Errorf("%+v, %v", s, *w.FailurePolicy)
			}
			if certManager {
				return
			}
			pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(w.ClientConfig.CABundle)
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: lintName + "." + lintName + ".svc", Roots: roots}); err != nil {
				t.Error(err)
			}
			if bytes.Contains(w.ClientConfig.CABundle, []byte("PRIVATE")) {
				t.Error("the webhook configuration holds a key")
			}
		})
	}
}
