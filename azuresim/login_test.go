package azuresim

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/golang-jwt/jwt/v5"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/entra"
)

// keyPair returns a certificate, its PEM and its RSA key.
func keyPair(t *testing.T) (*x509.Certificate, string, *rsa.PrivateKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), key
}

// federatedToken returns a token in the form of a Kubernetes API server.
func federatedToken(key *rsa.PrivateKey, subject, audience string, life time.Duration) string {
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": "https://issuer.test/", "sub": subject, "aud": []string{audience}, "exp": time.Now().Add(life).Unix(),
	}).SignedString(key)
	if err != nil {
		panic(err) // signing with an RSA key cannot fail
	}
	return signed
}

func TestLogins(t *testing.T) {
	cert, certPEM, key := keyPair(t)
	_, _, otherKey := keyPair(t)
	_, issuerPEM, issuerKey := keyPair(t)
	s, err := open(Config{Clients: []entra.Client{
		{ID: "secret-app", Secret: "right"},
		{ID: "cert-app", Certificate: certPEM},
		{ID: "pod-app", Federated: []engine.Federated{
			{Issuer: "https://issuer.test/", Subject: "system:serviceaccount:ns:sa", Keys: issuerPEM},
		}},
		{ID: "keyless-app", Federated: []engine.Federated{{Issuer: "https://issuer.test/", Subject: "system:serviceaccount:ns:sa"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Without a cloud configuration, clients use the public names; the transport replaces the
	// proxy.
	options := policy.ClientOptions{Transport: s, Retry: policy.RetryOptions{MaxRetries: -1}}
	secret := func(tenant, id, value string) func(policy.ClientOptions) (azcore.TokenCredential, error) {
		return func(o policy.ClientOptions) (azcore.TokenCredential, error) {
			return azidentity.NewClientSecretCredential(tenant, id, value, &azidentity.ClientSecretCredentialOptions{ClientOptions: o})
		}
	}
	certificate := func(id string, key *rsa.PrivateKey, chain bool) func(policy.ClientOptions) (azcore.TokenCredential, error) {
		return func(o policy.ClientOptions) (azcore.TokenCredential, error) {
			return azidentity.NewClientCertificateCredential(engine.DefaultTenant, id, []*x509.Certificate{cert},
				key, &azidentity.ClientCertificateCredentialOptions{ClientOptions: o, SendCertificateChain: chain})
		}
	}
	workload := func(id, token string) func(policy.ClientOptions) (azcore.TokenCredential, error) {
		return func(o policy.ClientOptions) (azcore.TokenCredential, error) {
			file := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
				return nil, err
			}
			return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
				ClientOptions: o, TenantID: engine.DefaultTenant, ClientID: id, TokenFilePath: file,
			})
		}
	}
	const sa = "system:serviceaccount:ns:sa"
	for _, tc := range []struct {
		name  string
		cloud cloud.Configuration
		make  func(policy.ClientOptions) (azcore.TokenCredential, error)
		want  string // an AADSTS code; "" for success
	}{
		{name: "secret", make: secret(engine.DefaultTenant, "secret-app", "right")},
		{name: "secret, China", cloud: cloud.AzureChina, make: secret(engine.DefaultTenant, "secret-app", "right")},
		{name: "secret, US Government", cloud: cloud.AzureGovernment, make: secret(engine.DefaultTenant, "secret-app", "right")},
		{name: "wrong secret", make: secret(engine.DefaultTenant, "secret-app", "wrong"), want: "AADSTS7000215"},
		{name: "secret of an application without one", make: secret(engine.DefaultTenant, "cert-app", "right"), want: "AADSTS7000215"},
		{name: "unknown application", make: secret(engine.DefaultTenant, "unknown", "right"), want: "AADSTS700016"},
		{name: "another tenant", make: secret("00000000-0000-0000-0000-000000000bad", "secret-app", "right"), want: "AADSTS90002"},
		{name: "certificate", make: certificate("cert-app", key, false)},
		{name: "certificate with its chain", make: certificate("cert-app", key, true)},
		{name: "another key", make: certificate("secret-app", otherKey, false), want: "certificate"},
		{name: "certificate of an application without one", make: certificate("secret-app", key, false), want: "AADSTS700027"},
		{name: "workload identity", make: workload("pod-app", federatedToken(issuerKey, sa, "api://AzureADTokenExchange", time.Hour))},
		{name: "workload identity of another account", make: workload("pod-app", federatedToken(issuerKey,
			"system:serviceaccount:ns:other", "api://AzureADTokenExchange", time.Hour)), want: "AADSTS700213"},
		{name: "workload identity for another audience",
			make: workload("pod-app", federatedToken(issuerKey, sa, "sts", time.Hour)), want: "AADSTS700212"},
		{name: "expired workload identity",
			make: workload("pod-app", federatedToken(issuerKey, sa, "api://AzureADTokenExchange", -time.Hour)),
			want: "AADSTS700024"},
		{name: "workload identity that another key signed",
			make: workload("pod-app", federatedToken(otherKey, sa, "api://AzureADTokenExchange", time.Hour)),
			want: "AADSTS50013"},
		{name: "workload identity without a signature", make: workload("pod-app",
			unsigned(federatedToken(issuerKey, sa, "api://AzureADTokenExchange", time.Hour))), want: "AADSTS50013"},
		{name: "workload identity of an issuer without keys",
			make: workload("keyless-app", federatedToken(issuerKey, sa, "api://AzureADTokenExchange", time.Hour)),
			want: "AADSTS90061"},
		{name: "secret of the owner", make: secret(engine.DefaultTenant, entra.DefaultClient, entra.Owner(s).Secret)},
		{name: "another secret for the owner", make: secret(engine.DefaultTenant, entra.DefaultClient, "local"), want: "AADSTS7000215"},
		{name: "workload identity of an application without one",
			make: workload("secret-app", federatedToken(issuerKey, sa, "api://AzureADTokenExchange", time.Hour)),
			want: "AADSTS700211"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options
			o.Cloud = tc.cloud
			credential, err := tc.make(o)
			if err == nil {
				_, err = credential.GetToken(t.Context(),
					policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}})
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// unsigned returns a token with the algorithm "none" and no signature.
func unsigned(token string) string {
	parts := strings.Split(token, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + "."
}

func TestWorkloadIdentityOfAnIdentity(t *testing.T) {
	_, issuerPEM, issuerKey := keyPair(t)
	a := start(t, Config{Issuer: func(_ context.Context, issuer string) (string, error) {
		if issuer != "https://issuer.test/" {
			return "", errors.New("not known")
		}
		return issuerPEM, nil
	}})
	defer a.Close()
	base := "/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g"
	a.put(base, `{"location":"westeurope"}`)
	id := base + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
	made := a.put(id, `{"location":"westeurope"}`)
	client := made["properties"].(map[string]any)["clientId"].(string)
	a.put(id+"/federatedIdentityCredentials/fic",
		`{"properties":{"issuer":"https://issuer.test/","subject":"sub","audiences":["api://AzureADTokenExchange"]}}`)
	for subject, want := range map[string]bool{"sub": true, "other": false} {
		credential, err := azidentity.NewClientAssertionCredential(engine.DefaultTenant, client, func(context.Context) (string, error) {
			return federatedToken(issuerKey, subject, "api://AzureADTokenExchange", time.Hour), nil
		}, &azidentity.ClientAssertionCredentialOptions{ClientOptions: a.options.ClientOptions, DisableInstanceDiscovery: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}})
		if (err == nil) != want {
			t.Errorf("subject %s: %v", subject, err)
		}
	}
}

func TestManagedIdentity(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	base := "/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g"
	a.put(base, `{"location":"westeurope"}`)
	id := base + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
	client := a.put(id, `{"location":"westeurope"}`)["properties"].(map[string]any)["clientId"].(string)
	for _, endpoint := range []string{"", "https://azure.test/metadata/identity/oauth2/token"} {
		t.Setenv("IDENTITY_ENDPOINT", endpoint)
		t.Setenv("IDENTITY_HEADER", entra.Owner(a.Server).Secret)
		if endpoint == "" {
			if err := errors.Join(os.Unsetenv("IDENTITY_ENDPOINT"), os.Unsetenv("IDENTITY_HEADER")); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			id   azidentity.ManagedIDKind
			want string
		}{{nil, "00000000-0000-0000-0000-0000000000c2"}, {azidentity.ClientID(client), client},
			{azidentity.ResourceID(id), client}, {azidentity.ClientID(entra.DefaultClient), entra.DefaultClient},
			{azidentity.ClientID("00000000-0000-0000-0000-000000000bad"), ""}} {
			credential, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{
				ClientOptions: policy.ClientOptions{Transport: metadata{a.Server}, Retry: policy.RetryOptions{MaxRetries: -1}},
				ID:            tc.id,
			})
			if err != nil {
				t.Fatal(err)
			}
			token, err := credential.GetToken(t.Context(),
				policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}})
			if (err == nil) != (tc.want != "") {
				t.Errorf("endpoint %q, identity %v: %v", endpoint, tc.id, err)
			}
			if err == nil && appOf(t, token.Token) != tc.want {
				t.Errorf("endpoint %q, identity %v: the token is for %s, want %s", endpoint, tc.id, appOf(t, token.Token), tc.want)
			}
		}
	}
}

// metadata is the metadata service of a machine that has every identity, and the server for all
// other requests.
type metadata struct{ *engine.Server }

func (m metadata) Do(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "169.254.169.254" {
		return engine.RoundTrip(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			entra.ServeAnyIdentity(m.Server, w, r)
		}), r)
	}
	return m.Server.Do(r)
}

// TestManagedIdentityOfAnother requests the token of an identity without authentication, as another
// user of the machine could.
func TestManagedIdentityOfAnother(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	for name, header := range map[string][2]string{
		"nothing": {"X-Other", "x"}, "metadata service": {"Metadata", "true"},
		"wrong secret": {"X-IDENTITY-HEADER", "local"}, "empty secret": {"X-IDENTITY-HEADER", ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://azure.test/metadata/identity/"+
			"oauth2/token?api-version=2019-08-01&resource=https://management.azure.com/", nil)
		r.Header.Set(header[0], header[1])
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "access_token") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func appOf(t *testing.T, jwt string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(strings.Split(jwt, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Appid string }
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o.Appid
}

// put writes a resource over plain HTTP and returns the answer.
func (a *azure) put(id, body string) map[string]any {
	a.t.Helper()
	r, err := http.NewRequest(http.MethodPut, "https://azure.test"+id+"?api-version="+versionFor(id, "2023-01-31"), strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.Token("test", "test", "https://azure.test"))
	r.Header.Set("Content-Type", "application/json")
	resp, err := a.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode >= 300 {
		a.t.Fatalf("PUT %s: %d %v %v", id, resp.StatusCode, out, err)
	}
	return out
}
