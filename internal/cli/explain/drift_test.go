package explain

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"casement.dev/casement/internal/drift"
	"casement.dev/casement/internal/terminal"
	"casement.dev/casement/internal/testing/golden"
)

// TestDriftTable shows a report with each kind of drift in 80 columns, and a report without drift.
func TestDriftTable(t *testing.T) {
	const group = "/subscriptions/0/resourceGroups/rg/providers/"
	write := &drift.Event{At: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC), By: "jo@example.com",
		Operation: "Microsoft.Network/networkSecurityGroups/write"}
	report := &drift.Report{Cluster: "team/prod", Compared: 40,
		Notes: []string{"AzureMachine/x was not compared: spec.image: is wrong; correct it"},
		Findings: []drift.Finding{
			{Kind: drift.Added, ID: group + "Microsoft.Network/networkSecurityGroups/prod-node-nsg", Object: "AzureCluster/prod",
				Field: "spec.networkSpec.subnets[1].securityGroup", Last: write, Then: "it stays: casement keeps what others add",
				What: "properties.securityRules[rdp-for-me]: Allow Inbound Tcp from * to port 3389"},
			{Kind: drift.Changed, ID: group + "Microsoft.Compute/virtualMachines/prod-md-win-a-rather-long-name-x7k2p",
				Object: "AzureMachine/prod-md-win", Field: "spec", Then: "it stays until the machine is replaced",
				What: "properties.hardwareProfile.vmSize: Standard_D4s_v3 -> Standard_D2s_v3"},
			{Kind: drift.Stray, ID: group + "Microsoft.Compute/disks/left", What: "it is in the cluster's group without an owner", Then: "it stays"},
		}}
	var out bytes.Buffer
	for _, r := range []*drift.Report{report, {Cluster: "team/calm", Compared: 12}} {
		w := terminal.NewTable(&out, 80)
		driftTable(w, r)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	golden.Compare(t, filepath.Join("testdata", "drift.txt"), out.Bytes())
}
