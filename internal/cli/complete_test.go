package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/kuberelease"
)

// TestValues: an argument or flag that names an object is completed with names, and never with files.
func TestValues(t *testing.T) {
	for line, want := range map[string]string{
		"azure env --for": "proxy", "wait demo --for": "deleted", "azure faults add": "throttle",
		"azure faults add guest --guest-fault": "disk-full",
		"azure faults add throttle --verb":     "PUT", "azure permissions --feature": "bastion",
		"lint explain": "WIN201", "preflight explain": "PRE202",
		"lint --windows-release": "2022", "lint --fail-on": "warning", "addons install": "calico", "images show": kuberelease.Default,
		"images show v1.34.1 --release": "2025", "images list --azure": "local", "up --images": "listed",
		"up --azure": "env", "logs x": "kubelet", "logs --all": "kubelet",
		"generate cluster x --flavor": "windows", "generate cluster x --kubernetes-version": kuberelease.Default,
		"get clusters": "", "azure log --caller": "", "calls": "",
	} {
		t.Run(line, func(t *testing.T) {
			var out, errs bytes.Buffer
			args := append(append([]string{"casement", "__complete"}, strings.Fields(line)...), "")
			t.Setenv("CASEMENT_HOME", t.TempDir())
			t.Setenv("KUBECONFIG", "")
			Main(args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			offered := strings.Split(strings.TrimSpace(out.String()), "\n")
			for i := range offered {
				offered[i], _, _ = strings.Cut(offered[i], "\t")
			}
			if !slices.Contains(offered, ":4") || want != "" && !slices.Contains(offered, want) {
				t.Errorf("%q is not offered, or files are: %q", want, offered)
			}
		})
	}
}
