package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/check"
)

// TestPreflightTopology: for a Cluster with a topology the objects that its ClusterClass renders are checked.
func TestPreflightTopology(t *testing.T) {
	for name, value := range map[string]string{
		"AZURE_LOCATION": "westeurope", "AZURE_SUBSCRIPTION_ID": "00000000-0000-0000-0000-000000000001",
		"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "KUBERNETES_VERSION": "v1.36.3",
		"CLUSTER_IDENTITY_NAME": "identity", "AZURE_CLUSTER_IDENTITY_SECRET_NAME": "secret",
		"AZURE_CLUSTER_IDENTITY_SECRET_NAMESPACE": "default", "WINDOWS_WORKER_MACHINE_COUNT": "4",
		"CASEMENT_HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	const pods, class = "192.168.0.0/16", "kind: ClusterClass"
	for _, tc := range []struct {
		name, flavor string
		edit         [2]string
		code         int
		machines     int
		says         []string // rules and objects of errors, or the reason why nothing was rendered
	}{
		{name: "machines", flavor: "topology-windows", machines: 6},
		{name: "pools", flavor: "topology-machinepool-windows", machines: 6},
		{name: "ranges that overlap", flavor: "topology-windows", edit: [2]string{pods, "10.96.0.0/16"}, code: app.ExitFailed, machines: 6,
			says: []string{"PRE202 Cluster/default/demo"}},
		{name: "a disk that a template has too large", flavor: "topology-windows", edit: [2]string{
			"\n        diskSizeGB: 128\n        managedDisk:", "\n        diskSizeGB: 99999\n        managedDisk:",
		}, code: app.ExitFailed, machines: 6,
			says: []string{"PRE501 AzureMachineTemplate/default/casement-windows-windows",
				"PRE501 AzureMachineTemplate/default/demo-md-win-xx009"}},
		{name: "a value that the class does not allow", flavor: "topology-windows",
			edit: [2]string{"value: windows-2022", "value: windows-1999"}, code: app.ExitFailed,
			says: []string{"PRE503 Cluster/default/demo"}},
		{name: "a class that is elsewhere", flavor: "topology-windows", edit: [2]string{class, "kind: OtherClass"},
			says: []string{"cluster demo of ClusterClass casement-windows: ClusterClass casement-windows is not in the input"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var manifest, out, errs bytes.Buffer
			if code := Main([]string{"casement", "generate", "cluster", "demo", "--flavor", tc.flavor},
				app.Streams{Out: &manifest, Err: &errs}); code != app.ExitDone {
				t.Fatal(errs.String())
			}
			text := manifest.String()
			if tc.edit[0] != "" {
				if !strings.Contains(text, tc.edit[0]) {
					t.Fatalf("the flavor has no %q", tc.edit[0])
				}
				text = strings.ReplaceAll(text, tc.edit[0], tc.edit[1])
			}
			code := Main([]string{"casement", "preflight", "-", "--offline", "-o", "json"},
				app.Streams{In: strings.NewReader(text), Out: &out, Err: &errs})
			var got check.PreflightResult
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s %s", err, &out, &errs)
			}
			said := got.NotRendered
			for _, f := range got.Findings {
				if f.Level == "error" || strings.HasPrefix(f.Rule, "PRE") {
					said = append(said, f.Rule+" "+f.Object)
				}
			}
			slices.Sort(said)
			if said = slices.Compact(said); code != tc.code || got.Machines != tc.machines || !slices.Equal(said, tc.says) {
				t.Errorf("exit code %d, %d machines, said %q; want %d, %d, %q", code, got.Machines, said, tc.code, tc.machines, tc.says)
			}
		})
	}
}
