package identity

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encoding/pem"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/azure/arm"
)

func TestAllowed(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	for _, tc := range []struct {
		name    string
		allowed *AllowedNamespaces
		want    bool
	}{
		{"nil: none", nil, false},
		{"empty: all", &AllowedNamespaces{}, true},
		{"listed", &AllowedNamespaces{NamespaceList: []string{"x", "here"}}, true},
		{"not listed", &AllowedNamespaces{NamespaceList: []string{"x"}}, false},
		{"selected", &AllowedNamespaces{Selector: selector}, true},
		{"list or selector", &AllowedNamespaces{NamespaceList: []string{"x"}, Selector: selector}, true},
		{"not selected", &AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}}, false},
		{"empty selector", &AllowedNamespaces{Selector: &metav1.LabelSelector{}}, false},
	} {
		got, err := Allowed(tc.allowed, "here", map[string]string{"team": "a"})
		if err != nil || got != tc.want {
			t.Errorf("%s: %v, %v", tc.name, got, err)
		}
	}
	if _, err := Allowed(&AllowedNamespaces{Selector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "what"}},
	}}, "here", nil); err == nil {
		t.Error("an operator that does not exist is accepted")
	}
}

func TestConfiguration(t *testing.T) {
	local := Cloud{AuthorityHost: "https://127.0.0.1:1/", ResourceManagerEndpoint: "https://127.0.0.1:1/"}
	c, err := Configuration("", local)
	if err != nil || c.ActiveDirectoryAuthorityHost != local.AuthorityHost ||
		c.Services[cloud.ResourceManager].Audience != "https://127.0.0.1:1" {
		t.Errorf("%+v, %v", c, err)
	}
	if cloud.AzurePublic.Services[cloud.ResourceManager].Endpoint != "https://management.azure.com" {
		t.Error("the SDK's own configuration was written to")
	}
	if c, err = Configuration("AzureChinaCloud", Cloud{}); err != nil ||
		!strings.Contains(c.Services[cloud.ResourceManager].Endpoint, "chinacloudapi") {
		t.Errorf("%+v, %v", c, err)
	}
	for _, environment := range []string{"AzureGermanCloud", "public"} {
		if _, err = Configuration(environment, Cloud{}); err == nil || !strings.Contains(err.Error(), "spec.azureEnvironment") {
			t.Errorf("%s: %v", environment, err)
		}
	}
	if _, err = Configuration("", Cloud{ResourceManagerEndpoint: "http://127.0.0.1"}); err == nil {
		t.Error("plain HTTP is accepted")
	}
}

func TestMissingMaterialNamesItsField(t *testing.T) {
	for field, s := range map[string]Source{
		"spec.type":         {Type: "Password"},
		"spec.tenantID":     {Type: ServicePrincipal, ClientID: "c"},
		"spec.clientID":     {Type: WorkloadIdentity, TenantID: "t"},
		"spec.clientSecret": {Type: ServicePrincipal, TenantID: "t", ClientID: "c"},
		"spec.certPath": {Type: ServicePrincipalCertificate, TenantID: "t", ClientID: "c",
			CertificatePath: filepath.Join(t.TempDir(), "none")},
		"spec.userAssignedIdentityCredentialsPath": {Type: UserAssignedIdentityCredential},
	} {
		_, err := New(Config{}).Credential("", s)
		if e, ok := errors.AsType[*Error](err); !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	const secret = "do-not-show"
	_, err := New(Config{}).Credential("",
		Source{Type: ServicePrincipalCertificate, TenantID: "t", ClientID: "c", Certificate: []byte(secret)})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("certificate: %v", err)
	}
}

// authority returns a token endpoint, and an ARM that accepts only the endpoint's tokens.
func authority(t *testing.T) *httptest.Server {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration"):
			_, _ = w.Write([]byte(`{"issuer":"` + server.URL + `/t/v2.0","authorization_endpoint":"` + server.URL +
				`/t/a","token_endpoint":"` + server.URL + `/t/token"}`))
		case r.URL.Path == "/t/token":
			if r.FormValue("client_secret") != "right" {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"AADSTS7000215: Invalid ` +
					`client secret provided.\nTrace ID: x","error_codes":[7000215]}`))
				return
			}
			_, _ = w.Write([]byte(`{"access_token":"token","expires_in":3600,"token_type":"Bearer"}`))
		case r.Header.Get("Authorization") == "Bearer token":
			_, _ = w.Write([]byte(`{"id":"x"}`))
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestClientSignsInAndFollowsARotatedSecret(t *testing.T) {
	server := authority(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	pool := New(Config{Clouds: map[string]Cloud{PublicCloud: {
		AuthorityHost: server.URL, ResourceManagerEndpoint: server.URL, CAFile: ca, DisableInstanceDiscovery: true,
	}}})
	source := Source{Type: ServicePrincipal, TenantID: "t", ClientID: "c", ClientSecret: "wrong"}
	client, err := pool.Client("", "s", source)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Get(t.Context(), "/subscriptions/s/resourceGroups/g", "1")
	if arm.ClassOf(err) != arm.Denied || !strings.Contains(err.Error(), "AADSTS7000215") ||
		strings.Contains(err.Error(), "Trace ID") || strings.Contains(err.Error(), "wrong") {
		t.Fatalf("with a wrong secret: %v", err)
	}
	if again, err := pool.Client("", "s", source); err != nil || again != client {
		t.Errorf("the client is not kept: %v", err)
	}
	source.ClientSecret = "right"
	rotated, err := pool.Client("", "s", source)
	if err != nil || rotated == client {
		t.Fatalf("the old client is kept: %v", err)
	}
	if _, err := rotated.Get(t.Context(), "/subscriptions/s/resourceGroups/g", "1"); err != nil {
		t.Errorf("with the new secret: %v", err)
	}
}
