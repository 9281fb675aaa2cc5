package arm

import (
	"crypto/tls"
	"slices"
	"strings"
)

// publicCloud is one of Azure's clouds, by the names that clients have built in
// (azcore and MSAL know the same).
type publicCloud struct {
	name    string
	manager string
	// logins are the names of the token service, the one in use first.
	logins []string
	vault  string
}

func clouds() []publicCloud {
	return []publicCloud{
		{"AzureCloud", "management.azure.com", []string{"login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net"}, "vault.azure.net"},
		{"AzureChinaCloud", "management.chinacloudapi.cn", []string{"login.partner.microsoftonline.cn", "login.chinacloudapi.cn"}, "vault.azure.cn"},
		{"AzureUSGovernment", "management.usgovcloudapi.net", []string{"login.microsoftonline.us", "login.usgovcloudapi.net"}, "vault.usgovcloudapi.net"},
		{"AzureGermanCloud", "management.microsoftazure.de", []string{"login.microsoftonline.de"}, "vault.microsoftazure.de"},
	}
}

// certified are the names that the server has a certificate for: its own, and
// those of the clouds that an intercepting proxy or a hosts file leads to it.
func certified() []string {
	out := []string{"localhost", "*." + VaultDomain, "*." + bastionDomain}
	for _, c := range clouds() {
		out = append(append(out, c.manager, "*."+c.vault), c.logins...)
	}
	return out
}

// Intercepts tells whether the local Azure can stand for a public host.
func Intercepts(host string) bool {
	host = strings.TrimSuffix(lower(host), ".")
	if _, _, ok := vaultOf(host); ok || strings.HasSuffix(host, "."+bastionDomain) {
		return true
	}
	return slices.ContainsFunc(clouds(), func(c publicCloud) bool { return host == c.manager || slices.Contains(c.logins, host) })
}

// vaultOf takes the host of a key vault's data plane apart: the vault's name, and
// the host that issues tokens for it, "" for the local Azure's own.
func vaultOf(host string) (name, login string, ok bool) {
	host, _, _ = strings.Cut(lower(host), ":")
	for _, c := range append(clouds(), publicCloud{vault: VaultDomain, logins: []string{""}}) {
		if name, ok := strings.CutSuffix(host, "."+c.vault); ok && name != "" && !strings.Contains(name, ".") {
			return name, c.logins[0], true
		}
	}
	return "", "", false
}

// TLS holds the certificate of the names that Intercepts knows.
func (s *Server) TLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{s.pki.cert}, MinVersion: tls.VersionTLS12}
}

// authorities is what instance discovery tells of the token services: each host
// is its own network and cache, so that a client stays with the one it asked.
func authorities(asked string) []any {
	var out []any
	known := false
	for _, c := range clouds() {
		known = known || slices.Contains(c.logins, asked)
		out = append(out, object{"preferred_network": c.logins[0], "preferred_cache": c.logins[0], "aliases": anys(c.logins)})
	}
	if !known {
		out = append(out, object{"preferred_network": asked, "preferred_cache": asked, "aliases": []any{asked}})
	}
	return out
}
