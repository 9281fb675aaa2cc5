package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfig: credentials are accepted, except those that run a program or read a file of this machine.
func TestConfig(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(cluster, user string) string {
		return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
	}
	for name, test := range map[string]struct{ data, refused string }{
		"a token":    {of("", "token: hush"), ""},
		"a password": {of("", "username: u, password: hush"), ""},
		"a program": {of("", "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: touch, args: ["+
			ran+"]}"), "exec"},
		"an auth provider":  {of("", "auth-provider: {name: gcp, config: {cmd-path: "+ran+"}}"), "auth-provider"},
		"a token in a file": {of("", "tokenFile: "+secret), "tokenFile"},
		"a certificate":     {of("", "client-certificate: "+secret), "client-certificate"},
		"a key":             {of("", "client-key: "+secret), "client-key"},
		"an authority":      {of(", certificate-authority: "+secret, "token: hush"), "certificate-authority"},
		"no kubeconfig":     {"token: hush", "current context"},
		"no YAML":           {"\thush", "no kubeconfig"},
		"no cluster": {"apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
			"contexts: [{name: c, context: {cluster: d, user: u}}]\n", "complete"},
		"another's exec":      {of("", "token: hush}}, {name: v, user: {exec: {command: x, apiVersion: client.authentication.k8s.io/v1}"), ""},
		"the context is gone": {strings.Replace(of("", "token: hush"), "current-context: c", "current-context: d", 1), "current context"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Config([]byte(test.data))
			if test.refused == "" && (err != nil || cfg.ExecProvider != nil || cfg.Host != "https://127.0.0.1:1") {
				t.Errorf("got %v, %v", cfg, err)
			}
			if test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
				t.Errorf("got %v, want an error about %s", err, test.refused)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("the error quotes the secret: %v", err)
			}
		})
	}
}
