package cause

import "testing"

// TestLastAfterSuccess: a kubelet's failed call before its API server served is no cause once kubeadm has succeeded; a
// failed command still is.
func TestLastAfterSuccess(t *testing.T) {
	refused := `level=ERROR msg="Unable to register node with API server" err="dial tcp 10.0.0.4:6443: connect: connection refused"`
	failed := "guest: runcmd: line 2 failed with code 7: curl example.com"
	done := "Your Kubernetes control-plane has initialized successfully!"
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"before", []string{refused}, "APIRefused"},
		{"before success", []string{refused, done, "cloud-init finished"}, ""},
		{"after success", []string{done, refused}, "APIRefused"},
		{"a command", []string{failed, refused, done}, CommandFailed},
	} {
		if got, _, _ := Last(Guest, c.lines); got.Name != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Name, c.want)
		}
	}
}
