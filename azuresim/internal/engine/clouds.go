package engine

import (
	"crypto/tls"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/internal/value"
)

// Cloud is one of Azure's clouds, with the host names that clients have built in. The names are
// those of azcore and MSAL.
type Cloud struct {
	Name    string
	Manager string
	// Classic is the audience that tokens for the resource manager had before ARM existed; Azure
	// still accepts it.
	Classic string
	// Logins are the host names of the token service; the first is the current one.
	Logins []string
	// Vault is the DNS suffix of key vaults.
	Vault string
}

// Clouds returns the clouds that the local Azure can replace.
func Clouds() []Cloud {
	return []Cloud{
		{"AzureCloud", "management.azure.com", "management.core.windows.net",
			[]string{"login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net"},
			"vault.azure.net"},
		{"AzureChinaCloud", "management.chinacloudapi.cn", "management.core.chinacloudapi.cn",
			[]string{"login.partner.microsoftonline.cn", "login.chinacloudapi.cn"}, "vault.azure.cn"},
		{"AzureUSGovernment", "management.usgovcloudapi.net", "management.core.usgovcloudapi.net",
			[]string{"login.microsoftonline.us", "login.usgovcloudapi.net"}, "vault.usgovcloudapi.net"},
		{"AzureGermanCloud", "management.microsoftazure.de", "management.core.cloudapi.de",
			[]string{"login.microsoftonline.de"}, "vault.microsoftazure.de"},
	}
}

// VaultDomain is the domain of the local key vaults' names; names below localhost are loopback (RFC 6761).
const VaultDomain = "vault.casement.localhost"

// VaultSuffix returns the part of a vault's address that follows the vault's name: the domain, and
// the port on which the server listens.
func VaultSuffix(s *Server) string {
	if port := s.Port.Load(); port != 0 && port != 443 {
		return "." + VaultDomain + ":" + strconv.Itoa(int(port))
	}
	return "." + VaultDomain
}

// isManager reports whether a host, with or without a port, is a public name of Azure's resource
// manager.
func isManager(host string) bool {
	name, _, _ := strings.Cut(value.Lower(host), ":")
	return slices.ContainsFunc(Clouds(), func(c Cloud) bool { return c.Manager == name })
}

// hosts returns the public names that a server answers: those of the resource manager and of the
// providers. "*" in a name matches one label.
func (r *registry) hosts() []string {
	var out []string
	for _, c := range Clouds() {
		out = append(out, c.Manager)
	}
	for _, p := range r.providers {
		out = append(out, p.Hosts...)
	}
	return out
}

// AnswersFor reports whether a server with these providers can answer requests to a public host
// name.
func AnswersFor(host string, providers ...Provider) bool {
	host = strings.TrimSuffix(value.Lower(host), ".")
	return slices.ContainsFunc(NewRegistry(providers).hosts(), func(pattern string) bool { return matches(pattern, host) })
}

// matches reports whether a host name matches a pattern.
func matches(pattern, host string) bool {
	domain, wild := strings.CutPrefix(pattern, "*.")
	if !wild {
		return host == pattern
	}
	name, rest, ok := strings.Cut(host, ".")
	return ok && name != "" && rest == domain
}

// TLS returns a TLS configuration with certificates for all names that the server answers.
func (s *Server) TLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{s.pki.cert}, MinVersion: tls.VersionTLS12}
}
