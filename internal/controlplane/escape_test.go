package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubeconfigsOfAGuest: boot, which runs on the real machine, uses only the known parts of a kubeconfig that the
// guest wrote.
func TestKubeconfigsOfAGuest(t *testing.T) {
	root := filepath.Join(t.TempDir(), "rootfs")
	if err := os.MkdirAll(filepath.Join(root, "etc/kubernetes"), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(filepath.Dir(root), "secret")
	if err := os.WriteFile(secret, []byte("of the real machine"), 0o600); err != nil {
		t.Fatal(err)
	}
	const frame = "apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
		"contexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1', CA}}]\nusers: [{name: u, user: {USER}}]"
	for name, c := range map[string]struct{ ca, user, want string }{
		"a program": {
			"", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}",
			"exec is refused",
		},
		"a file":             {"certificate-authority: " + secret, "", "certificate-authority"},
		"a file, relatively": {"certificate-authority: ../../../secret", "", "certificate-authority"},
		"a token":            {"", "tokenFile: /../secret", "tokenFile"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("CA", c.ca, "USER", c.user).Replace(frame)
			if err := os.WriteFile(filepath.Join(root, "etc/kubernetes/admin.conf"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := (options{root: root}).local("admin.conf"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not name %q", err, c.want)
			}
		})
	}
	o := options{root: root}
	for _, guest := range []string{"../../x", "/../../x", "a/../../../x"} {
		if got := o.path(guest); got != filepath.Join(root, "x") {
			t.Errorf("%q is %s", guest, got)
		}
	}
}
