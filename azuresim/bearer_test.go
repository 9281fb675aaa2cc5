package azuresim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/entra"
	"casement.dev/casement/azuresim/internal/value"
)

// minted returns a token of the server in which some claims are changed, signed with key.
func (a *azure) minted(key any, method jwt.SigningMethod, change jwt.MapClaims) string {
	a.t.Helper()
	now := a.Clock.Now()
	claims := jwt.MapClaims{"aud": "https://management.azure.com/", "iss": engine.Issuer(a.Options.TenantID),
		"tid": a.Options.TenantID, "sub": "s", "exp": now.Add(time.Hour).Unix()}
	for k, v := range change {
		claims[k] = v
		if v == nil {
			delete(claims, k)
		}
	}
	signed, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return signed
}

// TestForeignTokens sends tokens that any program could create, or that have another audience, to
// the resource manager, a key vault and a Bastion host.
func TestForeignTokens(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	a.carried("PUT", "resourceGroups/g/providers/Microsoft.KeyVault/vaults/kv1",
		`{"location": "westeurope", "properties": {"tenantId": "`+engine.DefaultTenant+`"}}`)
	other := start(t, Config{})
	defer other.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own, es := a.Signer.Key, jwt.SigningMethodES256
	public := a.Signer.Published()
	good := a.Token("s", "s", "https://management.azure.com/")
	parts := strings.Split(good, ".")
	none, _ := json.Marshal(map[string]string{"alg": "none"})
	for _, tc := range []struct{ name, token, code string }{
		{"good", good, ""},
		{"good, without a slash", a.Token("s", "s", "https://management.azure.com"), ""},
		{"good, of before ARM", a.Token("s", "s", "https://management.core.windows.net/"), ""},
		{"good, for the address asked", a.Token("s", "s", "https://azure.test"), ""},
		{"empty", "", "InvalidAuthenticationToken"},
		{"no JWT", "x", "InvalidAuthenticationToken"},
		{"unsigned", unsigned(good), "InvalidAuthenticationToken"},
		{"unsigned with a signature", base64.RawURLEncoding.EncodeToString(none) + "." + parts[1] + "." + parts[2],
			"InvalidAuthenticationToken"},
		{"another key", a.minted(key, es, nil), "InvalidAuthenticationToken"},
		{"the public key as a shared one", a.minted([]byte(public["x"].(string)), jwt.SigningMethodHS256, nil),
			"InvalidAuthenticationToken"},
		{"another local Azure", other.Token("s", "s", "https://management.azure.com/"), "InvalidAuthenticationToken"},
		{"changed", parts[0] + "." + strings.Split(a.Token("t", "t", "https://management.azure.com/"), ".")[1] +
			"." + parts[2], "InvalidAuthenticationToken"},
		{"expired", a.minted(own, es, jwt.MapClaims{"exp": time.Now().Add(-time.Hour).Unix()}), "ExpiredAuthenticationToken"},
		{"without an end", a.minted(own, es, jwt.MapClaims{"exp": nil}), "InvalidAuthenticationToken"},
		{"of tomorrow", a.minted(own, es, jwt.MapClaims{"nbf": time.Now().Add(24 * time.Hour).Unix()}), "InvalidAuthenticationToken"},
		{"another tenant", a.minted(own, es, jwt.MapClaims{"tid": "00000000-0000-0000-0000-000000000bad"}),
			"InvalidAuthenticationTokenTenant"},
		{"another issuer", a.minted(own, es, jwt.MapClaims{"iss": "https://issuer.test/"}), "InvalidAuthenticationTokenTenant"},
		{"another audience", a.minted(own, es, jwt.MapClaims{"aud": "https://graph.microsoft.com/"}), "InvalidAuthenticationTokenAudience"},
		{"a vault's audience", a.minted(own, es, jwt.MapClaims{"aud": "https://vault.azure.net"}), "InvalidAuthenticationTokenAudience"},
		{"no audience", a.minted(own, es, jwt.MapClaims{"aud": nil}), "InvalidAuthenticationTokenAudience"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer, h := a.speak(http.MethodGet, "resourceGroups/g", "", "Authorization", "Bearer "+tc.token)
			if code := value.Str(answer, "error", "code"); code != tc.code || (tc.code != "") != (status == http.StatusUnauthorized) {
				t.Errorf("%d %s, want %q", status, code, tc.code)
			}
			if tc.code != "" && !strings.HasPrefix(h.Get("WWW-Authenticate"), `Bearer authorization_uri="https://azure.test/`) {
				t.Errorf("WWW-Authenticate is %q", h.Get("WWW-Authenticate"))
			}
			if status := a.vaultStatus(tc.token); status != http.StatusUnauthorized && tc.name != "a vault's audience" {
				t.Errorf("the vault answers %d", status)
			}
			if status := a.bastionStatus(tc.token, ""); (status == http.StatusUnauthorized) != (tc.code != "") &&
				!strings.Contains(tc.name, "address asked") {
				t.Errorf("the Bastion host answers %d", status)
			}
		})
	}
}

// TestTokenEnds sends a token that was accepted before and has expired: the cache of checked tokens
// must not accept it.
func TestTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, Config{})
		defer a.Close()
		a.group()
		token := a.Token("s", "s", "https://management.azure.com/")
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, http.StatusOK}, {time.Minute, http.StatusOK}, {2 * time.Hour, http.StatusUnauthorized}} {
			time.Sleep(step.after) // the clock of the synctest bubble
			if status, _, _ := a.speak(http.MethodGet, "resourceGroups/g", "", "Authorization", "Bearer "+token); status != step.want {
				t.Errorf("%s later the answer is %d, want %d", step.after, status, step.want)
			}
		}
	})
}

// vaultStatus requests the secrets of a key vault with a token and returns the status.
func (a *azure) vaultStatus(token string) int {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, "https://kv1."+VaultDomain+"/secrets?api-version=7.4", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := a.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// bastionStatus requests a tunnel from a Bastion host that does not exist and returns the
// status.
func (a *azure) bastionStatus(token, machine string) int {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost,
		"https://bst-x.bastion.azure.com/api/tokens", strings.NewReader("workloadHostPort=22&aztoken="+token+"&resourceId="+machine))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := a.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestKeptSecrets restarts a local Azure: its tokens and its secret remain valid, only the owner
// can read their files, and an error names a damaged file.
func TestKeptSecrets(t *testing.T) {
	dir := t.TempDir()
	a := start(t, Config{Dir: dir})
	token, secret := a.Token("s", "s", "https://management.azure.com/"), entra.Owner(a.Server).Secret
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = start(t, Config{Dir: dir})
	if entra.Owner(a.Server).Secret != secret {
		t.Error("the secret has changed")
	}
	if status, answer, _ := a.speak(http.MethodGet, "/subscriptions", "", "Authorization", "Bearer "+token); status != http.StatusOK {
		t.Errorf("a token of before answers %d %v", status, answer)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"client-secret", "token.key", "ca.key", "azure.db"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v, want mode 0600", name, info.Mode(), err)
		}
	}
	for _, name := range []string{"client-secret", "token.key"} {
		for _, content := range []string{"", "short", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
			if name == "client-secret" && len(content) > 26 {
				continue // any long text is a valid secret
			}
			path := filepath.Join(dir, name)
			kept, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := open(Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "delete the file") {
				t.Errorf("%s with %q: %v", name, content, err)
			}
			if err := os.WriteFile(path, kept, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
