package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
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
			Main(args, app.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
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

// TestWidened: a command that prints YAML also prints with templates.
func TestWidened(t *testing.T) {
	for usage, c := range map[string]struct {
		value string
		fits  bool
	}{
		"table, json or yaml": {"custom-columns=A:.a", true},
		"table, wide or yaml": {"jsonpath={.a}", true},
		"text or json":        {"jsonpath={.a}", false},
		"table, json (one a line with --follow) or yaml": {"jsonpath={.a}", false},
	} {
		t.Run(usage, func(t *testing.T) {
			root := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
			root.Flags().StringP("output", "o", "", usage)
			widenOutput(root)
			strictOutput(root)
			root.SetArgs([]string{"-o", c.value})
			if err := root.Execute(); (err == nil) != c.fits {
				t.Errorf("-o %s: %v", c.value, err)
			}
		})
	}
}
