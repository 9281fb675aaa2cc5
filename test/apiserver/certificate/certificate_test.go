package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
	"casement.dev/casement/internal/webhook/certificate"
)

var api client.Client

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) (err error) {
		api, err = client.New(p.Config(), client.Options{})
		return err
	}))
}

// refuse is an admission server that refuses every request, so that its answer differs from
// that of an API server that could not call it.
func refuse(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "refused by the webhook"}}
	_ = json.NewEncoder(w).Encode(review) // the client may be gone and needs no answer then
}

// TestReplicas checks that two replicas that start at the same time agree on a certificate
// authority, and that both serve certificates that the API server trusts for years, although each
// reads the Secret at different times.
func TestReplicas(t *testing.T) {
	ctx := t.Context()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "refuse.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(registrationv1.SideEffectClassNone),
			ClientConfig: registrationv1.WebhookClientConfig{
				URL: new("https://localhost:" + strings.TrimPrefix(listener.Addr().String(), "127.0.0.1:") + "/"),
			},
			Rules: []registrationv1.RuleWithOperations{{Operations: []registrationv1.OperationType{registrationv1.Create},
				Rule: registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "default"}},
		}},
	}
	if err := api.Create(ctx, config); err != nil {
		t.Fatal(err)
	}
	// The API server verifies certificates with its own clock, so the test runs through past times.
	now := time.Now().AddDate(-4, 0, 0)
	replica := func() *certificate.Keeper {
		return certificate.New(certificate.Config{Client: api, Secret: client.ObjectKey{Namespace: "default", Name: "cert"},
			DNSNames: []string{"localhost"},
			Mutating: []string{"hooks"}, Validating: []string{"hooks"}, Log: logr.Discard(), Now: func() time.Time { return now }})
	}
	replicas := []*certificate.Keeper{replica(), replica()}
	if _, err := replicas[0].GetCertificate(nil); err == nil {
		t.Error("a certificate is served before there is one")
	}
	var both sync.WaitGroup
	for _, k := range replicas {
		both.Go(func() {
			if err := k.Keep(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if !served(t, replicas[0]).Equal(served(t, replicas[1])) {
		t.Error("two replicas that begin at once serve different certificates")
	}
	serials := map[string]bool{}
	for i := 0; now.Before(time.Now()); i++ {
		k := replicas[i%2]
		if err := k.Keep(ctx); err != nil {
			t.Fatal(err)
		}
		live := &registrationv1.ValidatingWebhookConfiguration{}
		if err := api.Get(ctx, client.ObjectKey{Name: "hooks"}, live); err != nil {
			t.Fatal(err)
		}
		for _, each := range replicas { // the other replica still serves its last certificate
			leaf := served(t, each)
			verify(t, leaf, live.Webhooks[0].ClientConfig.CABundle, now)
			serials[leaf.SerialNumber.String()] = true
		}
		now = now.AddDate(0, 0, 15)
	}
	if len(serials) < 20 {
		t.Errorf("%d certificates in four years", len(serials))
	}
	now = time.Now()
	if err := replicas[1].Keep(ctx); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(refuse),
		TLSConfig: &tls.Config{GetCertificate: replicas[1].GetCertificate}, ReadHeaderTimeout: time.Second}
	go func() { _ = server.ServeTLS(listener, "", "") }() // returns when the server is closed
	defer server.Close()
	await(t, func(ctx context.Context) (bool, string) {
		err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "x-"}})
		return err != nil && strings.Contains(err.Error(), "refused by the webhook"), fmt.Sprint(err)
	})
}

// served returns the certificate that a replica serves.
func served(t *testing.T, k *certificate.Keeper) *x509.Certificate {
	t.Helper()
	serving, err := k.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return serving.Leaf
}

func verify(t *testing.T, leaf *x509.Certificate, bundle []byte, now time.Time) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost", CurrentTime: now}); err != nil {
		t.Errorf("at %s: %v", now.Format(time.DateOnly), err)
	}
}

// await polls ask until it reports that the API server uses the new configuration; the text is the
// last answer.
func await(t *testing.T, ask func(context.Context) (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		ok, said := ask(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(said)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
