package arm

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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// keyPair is a certificate, its PEM and its RSA key.
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

// federatedToken is a token as a Kubernetes API server issues it, unsigned.
func federatedToken(subject, audience string, life time.Duration) string {
	data, _ := json.Marshal(map[string]any{"iss": "https://issuer.test/", "sub": subject, "aud": []string{audience}, "exp": time.Now().Add(life).Unix()})
	return "e30." + base64.RawURLEncoding.EncodeToString(data) + ".sig"
}

func TestLogins(t *testing.T) {
	cert, certPEM, key := keyPair(t)
	_, _, otherKey := keyPair(t)
	s, err := New(Config{Clients: []Client{
		{ID: "secret-app", Secret: "right"},
		{ID: "cert-app", Certificate: certPEM},
		{ID: "pod-app", Federated: []Federated{{Issuer: "https://issuer.test/", Subject: "system:serviceaccount:ns:sa"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Without any configuration of a cloud: the names are the public ones, and the
	// transport stands for the proxy.
	options := policy.ClientOptions{Transport: s, Retry: policy.RetryOptions{MaxRetries: -1}}
	secret := func(tenant, id, value string) func(policy.ClientOptions) (azcore.TokenCredential, error) {
		return func(o policy.ClientOptions) (azcore.TokenCredential, error) {
			return azidentity.NewClientSecretCredential(tenant, id, value, &azidentity.ClientSecretCredentialOptions{ClientOptions: o})
		}
	}
	certificate := func(id string, key *rsa.PrivateKey, chain bool) func(policy.ClientOptions) (azcore.TokenCredential, error) {
		return func(o policy.ClientOptions) (azcore.TokenCredential, error) {
			return azidentity.NewClientCertificateCredential(DefaultTenant, id, []*x509.Certificate{cert}, key, &azidentity.ClientCertificateCredentialOptions{ClientOptions: o, SendCertificateChain: chain})
		}
	}
	workload := func(id, token string) func(policy.ClientOptions) (azcore.TokenCredential, error) {
		return func(o policy.ClientOptions) (azcore.TokenCredential, error) {
			file := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
				return nil, err
			}
			return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: o, TenantID: DefaultTenant, ClientID: id, TokenFilePath: file})
		}
	}
	const sa = "system:serviceaccount:ns:sa"
	for _, tc := range []struct {
		name  string
		cloud cloud.Configuration
		make  func(policy.ClientOptions) (azcore.TokenCredential, error)
		want  string // an AADSTS code; none when it is to work
	}{
		{name: "secret", make: secret(DefaultTenant, "secret-app", "right")},
		{name: "secret, China", cloud: cloud.AzureChina, make: secret(DefaultTenant, "secret-app", "right")},
		{name: "secret, US Government", cloud: cloud.AzureGovernment, make: secret(DefaultTenant, "secret-app", "right")},
		{name: "wrong secret", make: secret(DefaultTenant, "secret-app", "wrong"), want: "AADSTS7000215"},
		{name: "secret of an application without one", make: secret(DefaultTenant, "cert-app", "right"), want: "AADSTS7000215"},
		{name: "unknown application", make: secret(DefaultTenant, "nobody", "right"), want: "AADSTS700016"},
		{name: "another tenant", make: secret("00000000-0000-0000-0000-000000000bad", "secret-app", "right"), want: "AADSTS90002"},
		{name: "certificate", make: certificate("cert-app", key, false)},
		{name: "certificate with its chain", make: certificate("cert-app", key, true)},
		{name: "another key", make: certificate("secret-app", otherKey, false), want: "certificate"},
		{name: "certificate of an application without one", make: certificate("secret-app", key, false), want: "AADSTS700027"},
		{name: "workload identity", make: workload("pod-app", federatedToken(sa, federatedAudience, time.Hour))},
		{name: "workload identity of another account", make: workload("pod-app", federatedToken("system:serviceaccount:ns:other", federatedAudience, time.Hour)), want: "AADSTS700213"},
		{name: "workload identity for another audience", make: workload("pod-app", federatedToken(sa, "sts", time.Hour)), want: "AADSTS700212"},
		{name: "expired workload identity", make: workload("pod-app", federatedToken(sa, federatedAudience, -time.Hour)), want: "AADSTS700024"},
		{name: "workload identity of an application without one", make: workload("secret-app", federatedToken(sa, federatedAudience, time.Hour)), want: "AADSTS700211"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options
			o.Cloud = tc.cloud
			credential, err := tc.make(o)
			if err == nil {
				_, err = credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}})
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWorkloadIdentityOfAnIdentity(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	base := "/subscriptions/" + DefaultSubscription + "/resourceGroups/g"
	a.put(base, `{"location":"westeurope"}`)
	id := base + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
	made := a.put(id, `{"location":"westeurope"}`)
	client := made["properties"].(map[string]any)["clientId"].(string)
	a.put(id+"/federatedIdentityCredentials/f", `{"properties":{"issuer":"https://issuer.test/","subject":"sub","audiences":["api://AzureADTokenExchange"]}}`)
	for subject, want := range map[string]bool{"sub": true, "other": false} {
		credential, err := azidentity.NewClientAssertionCredential(DefaultTenant, client, func(context.Context) (string, error) {
			return federatedToken(subject, federatedAudience, time.Hour), nil
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
	base := "/subscriptions/" + DefaultSubscription + "/resourceGroups/g"
	a.put(base, `{"location":"westeurope"}`)
	id := base + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
	client := a.put(id, `{"location":"westeurope"}`)["properties"].(map[string]any)["clientId"].(string)
	for _, endpoint := range []string{"", "https://azure.test/metadata/identity/oauth2/token"} {
		t.Setenv("IDENTITY_ENDPOINT", endpoint)
		t.Setenv("IDENTITY_HEADER", endpoint) // any will do
		if endpoint == "" {
			if err := errors.Join(os.Unsetenv("IDENTITY_ENDPOINT"), os.Unsetenv("IDENTITY_HEADER")); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			id   azidentity.ManagedIDKind
			want string
		}{{nil, systemClient}, {azidentity.ClientID(client), client}, {azidentity.ResourceID(id), client}, {azidentity.ClientID("00000000-0000-0000-0000-000000000bad"), ""}} {
			credential, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{ClientOptions: policy.ClientOptions{Transport: a, Retry: policy.RetryOptions{MaxRetries: -1}}, ID: tc.id})
			if err != nil {
				t.Fatal(err)
			}
			token, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}})
			if (err == nil) != (tc.want != "") {
				t.Errorf("endpoint %q, identity %v: %v", endpoint, tc.id, err)
			}
			if err == nil && appOf(t, token.Token) != tc.want {
				t.Errorf("endpoint %q, identity %v: the token is for %s, want %s", endpoint, tc.id, appOf(t, token.Token), tc.want)
			}
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

// put writes a resource in plain HTTP and returns the answer.
func (a *azure) put(id, body string) map[string]any {
	a.t.Helper()
	r, err := http.NewRequest(http.MethodPut, "https://azure.test"+id+"?api-version=2023-01-31", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token("test", "test", "https://azure.test"))
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
