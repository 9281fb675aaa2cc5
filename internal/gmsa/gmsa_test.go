package gmsa

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/testing/golden"
)

func spec() Spec {
	return Spec{
		Account: "WebApp1", Domain: "corp.example", NetBIOS: "CORP", SID: "S-1-5-21-1-2-3", GUID: "630a7dd3-2d3e-4471-ae91-1d9ea2556cd5",
		Users: []User{{"shop", "default"}, {"shop", "web"}},
	}
}

func portable() Spec {
	s := spec()
	s.Secret, s.Identity = "https://v.vault.azure.net/secrets/user", "11111111-2222-3333-4444-555555555555"
	return s
}

func TestManifest(t *testing.T) {
	for name, s := range map[string]Spec{"joined": spec(), "portable": portable()} {
		out, err := s.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", name+".yaml"), out)
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"long account":       {func(s *Spec) { s.Account = "WebApplication01" }, "1 to 15"},
		"account with $":     {func(s *Spec) { s.Account = "WebApp1$" }, "leave the $ out"},
		"single label":       {func(s *Spec) { s.Domain = "corp" }, "DNS name"},
		"SID of a user":      {func(s *Spec) { s.SID += "-1104" }, "S-1-5-21-A-B-C"},
		"no GUID":            {func(s *Spec) { s.GUID = "" }, "ObjectGuid"},
		"account without ns": {func(s *Spec) { s.Users = []User{{"", "web"}} }, "NAMESPACE/NAME"},
		"secret's name":      {func(s *Spec) { s.Secret = "user" }, "https://VAULT/secrets/NAME"},
		"identity's name":    {func(s *Spec) { s.Identity = "gmsa" }, "principal ID"},
		"injected line":      {func(s *Spec) { s.NetBIOS = "A\nb: c" }, "NetBIOS"},
	} {
		t.Run(name, func(t *testing.T) {
			s := portable()
			tc.change(&s)
			if _, err := s.Manifest(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestWebhook: the certificate is for the service's name, and is signed by the authority in both configurations.
func TestWebhook(t *testing.T) {
	out, err := Webhook("gmsa", Image)
	if err != nil {
		t.Fatal(err)
	}
	var pair tls.Certificate
	roots := 0
	pools := []*x509.CertPool{}
	for doc := range bytes.SplitSeq(out, []byte("\n---\n")) {
		var secret corev1.Secret
		var mutating admissionv1.MutatingWebhookConfiguration
		if err := yaml.UnmarshalStrict(doc, &secret); err == nil && secret.Kind == "Secret" {
			if pair, err = tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"]); err != nil {
				t.Fatal(err)
			}
		}
		// The two kinds of configuration have the same fields.
		if err := yaml.UnmarshalStrict(doc, &mutating); err == nil && strings.HasSuffix(mutating.Kind, "WebhookConfiguration") {
			pool := x509.NewCertPool()
			if !pool.AppendCertsFromPEM(mutating.Webhooks[0].ClientConfig.CABundle) {
				t.Errorf("%s has no authority", mutating.Kind)
			}
			pools = append(pools, pool)
			roots++
		}
	}
	if roots != 2 || pair.Leaf == nil {
		t.Fatalf("%d configurations, certificate %v", roots, pair.Leaf != nil)
	}
	for _, pool := range pools {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "gmsa-webhook.gmsa.svc"}); err != nil {
			t.Error(err)
		}
	}
	if _, err := Webhook("Gmsa", Image); err == nil {
		t.Error("a namespace that is none was accepted")
	}
}
