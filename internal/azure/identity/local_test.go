package identity

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// TestLocal requests tokens with every type of identity of a local plane and checks that
// each request stays on this computer, whatever the environment variables say.
func TestLocal(t *testing.T) {
	var elsewhere atomic.Int32
	decoy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(decoy.Close)
	for name, value := range map[string]string{"IDENTITY_ENDPOINT": decoy.URL, "IDENTITY_HEADER": "x",
		"MSI_ENDPOINT": decoy.URL, "HTTPS_PROXY": decoy.URL, "HTTP_PROXY": decoy.URL} {
		t.Setenv(name, value)
	}
	var asked []string
	plane := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("client_id")+r.URL.Query().Get("mi_res_id")+" "+r.URL.Query().Get("resource"))
		if r.Header.Get("X-IDENTITY-HEADER") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(`{"access_token":"token","expires_on":"` + strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10) + `"}`))
	}))
	t.Cleanup(plane.Close)
	cloud := Cloud{
		AuthorityHost: plane.URL, ResourceManagerEndpoint: plane.URL, DisableInstanceDiscovery: true,
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: plane.Certificate().Raw}),
		Local:  &Local{IdentityEndpoint: plane.URL + "/metadata/identity/oauth2/token", IdentitySecret: "right"},
	}
	scopes := policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}}
	for _, s := range []Source{{Type: UserAssignedMSI, ClientID: "c"}, {Type: UserAssignedMSI, ResourceID: "/id"}} {
		credential, err := New(Config{Clouds: map[string]Cloud{PublicCloud: cloud}}).Credential("", s)
		if err != nil {
			t.Fatal(err)
		}
		token, err := credential.GetToken(t.Context(), scopes)
		if err != nil || token.Token != "token" {
			t.Errorf("%+v: %v", token, err)
		}
	}
	if got := strings.Join(asked, ", "); got != "c https://management.azure.com, /id https://management.azure.com" {
		t.Errorf("asked %s", got)
	}
	for _, address := range []string{"https://203.0.113.1", "https://login.microsoftonline.com",
		"https://169.254.169.254", "https://[2001:db8::1]"} {
		cloud.AuthorityHost, cloud.ResourceManagerEndpoint, cloud.Local.IdentityEndpoint = address, address, address
		pool := New(Config{Clouds: map[string]Cloud{PublicCloud: cloud}})
		for _, s := range []Source{{Type: UserAssignedMSI, ClientID: "c"},
			{Type: ServicePrincipal, TenantID: "t", ClientID: "c", ClientSecret: "s"}} {
			credential, err := pool.Credential("", s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := credential.GetToken(t.Context(), scopes); err == nil ||
				!errors.Is(err, ErrNotLocal) && !strings.Contains(err.Error(), ErrNotLocal.Error()) {
				t.Errorf("%s as %s: %v", address, s.Type, err)
			}
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went where the environment points", n)
	}
}
