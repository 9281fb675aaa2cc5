package helm

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/helm/v1alpha1"
)

// repository serves a chart repository with one chart, and returns its URL and CA.
func repository(t *testing.T) (url string, ca []byte) {
	t.Helper()
	dir := t.TempDir()
	c := &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "greeter", Version: "1.2.0"},
		Templates: []*chart.File{{Name: "templates/greeting.yaml", Data: []byte("apiVersion: v1\n" +
			"kind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n" +
			"  greeting: {{ .Values.greeting | quote }}\n")}},
	}
	if _, err := chartutil.Save(c, dir); err != nil {
		t.Fatal(err)
	}
	index := "apiVersion: v1\nentries:\n  greeter:\n  - {apiVersion: v2, name: greeter, version: 1.2.0, urls: [greeter-1.2.0.tgz]}\n"
	if err := os.WriteFile(filepath.Join(dir, "index.yaml"), []byte(index), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// TestRepository installs a chart from a repository whose CA is in a Secret, and checks the error for a chart that the
// repository lacks.
func TestRepository(t *testing.T) {
	url, ca := repository(t)
	s := begin(t, "")
	selector := map[string]string{"repository": "remote"}
	c := s.cluster("remote", selector)
	s.initialize(c)
	s.must(s.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "repository"},
		Data:       map[string][]byte{"ca.crt": ca},
	}))
	for name, version := range map[string]string{"greeter": "1.2.0", "greeter-of-tomorrow": "9.0.0"} {
		p := proxy(name, "greeter", selector, "greeting: {{ .Cluster.metadata.name }}")
		p.Spec.RepoURL, p.Spec.Version = url, version
		p.Spec.TLSConfig = &v1alpha1.TLSConfig{CASecretRef: &corev1.SecretReference{Name: "repository"}}
		s.must(s.Create(t.Context(), p))
	}
	s.ready("greeter", 1)
	greeting := &corev1.ConfigMap{}
	if !s.has(greeting, "default", "greeter") || greeting.Data["greeting"] != "remote" {
		t.Errorf("got greeting %v", greeting.Data)
	}
	s.until("says why it is not installed", func() (bool, string) {
		r := s.release("greeter-of-tomorrow")
		if r == nil {
			return false, "no release"
		}
		said := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ReleaseReadyCondition)
		if said == nil || said.Reason != v1alpha1.InstallOrUpgradeFailedReason {
			return false, fmt.Sprint(messages(r.Status.Conditions))
		}
		for _, part := range []string{"chart greeter 9.0.0", url, "--charts DIR"} {
			if !strings.Contains(said.Message, part) {
				t.Errorf("the message does not name %s: %s", part, said.Message)
			}
		}
		return true, ""
	})
	for _, name := range []string{"greeter", "greeter-of-tomorrow"} {
		p := proxy(name, "", nil, "")
		s.must(s.Delete(t.Context(), p))
		s.until(name+" is gone", func() (bool, string) { return !s.has(p, "default", name), "there still" })
	}
	if s.has(greeting, "default", "greeter") {
		t.Error("the release was not removed")
	}
}

// TestStubs: each chart that an addon lists has a stub.
func TestStubs(t *testing.T) {
	for _, addon := range addons.All() {
		for _, name := range addon.Charts {
			if _, ok := findStub(name); !ok {
				t.Errorf("the chart %s of addon %s has no stub", name, addon.Name)
			}
		}
	}
}
