package clusterctl

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// slow makes Azure take half a minute instead of five minutes for a bastion.
const slow = "0.1"

// TestMoveWaits moves a cluster while Azure creates a bastion for it. The AzureCluster blocks the
// move, clusterctl waits, and no object is moved and no operation is begun twice.
func TestMoveWaits(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	releases := published(t)
	source := operator{t: t, plane: plane.New(t)}
	source.plane.Run(nil, "up", "--bare", "--latency", slow)
	source.config = releases.Config(t, first, source.plane.Run(nil, "status", "-o", "clusterctl"))
	source.init("azure:" + first)
	manifest := source.clusterctl("generate", "cluster", "demo", "--flavor", "windows", "--kubernetes-version",
		plane.Kubernetes(), "--control-plane-machine-count", "1", "--worker-machine-count", "0")
	source.plane.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	t.Log(source.plane.Run(nil, "wait", "demo", "--timeout", "5m"))
	target := operator{t: t, plane: plane.New(t), config: source.config}
	target.plane.Run(nil, "up", "--bare", "--azure-of", source.plane.Home)
	target.init("azure:" + first)

	source.plane.Run(nil, "kubectl", "patch", "azurecluster", "demo", "--type=merge", "-p", `{"spec":{"bastionSpec":{"azureBastion":{}}}}`)
	eventually(t, "the bastion is being made and blocks a move", func() bool {
		return source.blocked() && slices.Equal(bastions(source.plane), []string{"Updating"})
	})
	moved := make(chan string, 1)
	go func() {
		moved <- source.clusterctl("move", "--to-kubeconfig", filepath.Join(target.plane.Home, "kubeconfig"))
	}()
	early := 0
	eventually(t, "the bastion is made", func() bool {
		// Azure is checked last, when every other object would have been moved.
		there := target.plane.Run(nil, "kubectl", "get", "azureclusters", "-o", "name")
		state := bastions(source.plane)
		if strings.TrimSpace(there) != "" && !slices.Equal(state, []string{"Succeeded"}) {
			early++
		}
		return slices.Equal(state, []string{"Succeeded"})
	})
	if early > 0 {
		t.Error("the AzureCluster was moved while Azure was at work for it")
	}
	t.Log(<-moved)
	if left := source.plane.Run(nil, "kubectl", "get", "cluster-api", "-o", "name"); strings.TrimSpace(left) != "" {
		t.Errorf("the move left %s", left)
	}
	t.Log(target.plane.Run(nil, "wait", "demo", "--timeout", "2m"))
	eventually(t, "nothing blocks the moved object", func() bool { return !target.blocked() })
	log := source.plane.Run(nil, "azure", "log", "--verb", "PUT", "--type", "bastionHosts", "-o", "json")
	var calls []json.RawMessage
	if err := json.Unmarshal([]byte(log), &calls); err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	if len(calls) != 1 {
		t.Errorf("Azure was asked %d times for the bastion:\n%s", len(calls), log)
	}
}

// blocked reports whether the cluster's AzureCluster prevents clusterctl from moving it.
func (o operator) blocked() bool {
	o.t.Helper()
	var c struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal([]byte(o.plane.Run(nil, "kubectl", "get", "azurecluster", "demo", "-o", "json")), &c); err != nil {
		o.t.Fatal(err)
	}
	return slices.Contains(slices.Collect(maps.Keys(c.Metadata.Annotations)), "clusterctl.cluster.x-k8s.io/block-move")
}

// bastions returns the states of all bastions in Azure.
func bastions(p *plane.Plane) []string {
	var list struct {
		Value []struct {
			Properties struct{ ProvisioningState string }
		}
	}
	p.ARM("/providers/Microsoft.Network/bastionHosts", "2024-05-01", &list)
	var out []string
	for _, v := range list.Value {
		out = append(out, v.Properties.ProvisioningState)
	}
	return out
}

// eventually waits until is returns true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1200 { // ten minutes, because a busy machine is slow
		if is() {
			return
		}
		<-time.After(500 * time.Millisecond)
	}
	t.Fatalf("it does not come about that %s", what)
}
