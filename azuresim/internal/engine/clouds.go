package engine

import (
	"crypto/tls"
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/value"
)

// Cloud is one of Azure's clouds, by the names that clients have built in
// (azcore and MSAL know the same).
type Cloud struct {
	Name    string
	Manager string
	// Classic is the name that tokens for the manager have had since before it.
	Classic string
	// Logins are the names of the token service, the one in use first.
	Logins []string
	// Vault is the domain of key vaults.
	Vault string
}

// Clouds are those that the local Azure can replace.
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

// isManager says whether a host, with a port or without, is Azure's name of the
// resource manager.
func isManager(host string) bool {
	name, _, _ := strings.Cut(value.Lower(host), ":")
	return slices.ContainsFunc(Clouds(), func(c Cloud) bool { return c.Manager == name })
}

// hosts are the public names that a server answers for: the resource manager's and
// those of the providers. "*" matches one label.
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

// AnswersFor says whether a server with these providers can answer for a public host.
func AnswersFor(host string, providers ...Provider) bool {
	host = strings.TrimSuffix(value.Lower(host), ".")
	return slices.ContainsFunc(NewRegistry(providers).hosts(), func(pattern string) bool { return matches(pattern, host) })
}

// matches says whether a host is of a pattern.
func matches(pattern, host string) bool {
	domain, wild := strings.CutPrefix(pattern, "*.")
	if !wild {
		return host == pattern
	}
	name, rest, ok := strings.Cut(host, ".")
	return ok && name != "" && rest == domain
}

// TLS holds the certificate of the names that the server answers for.
func (s *Server) TLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{s.pki.cert}, MinVersion: tls.VersionTLS12}
}
