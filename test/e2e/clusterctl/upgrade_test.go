package clusterctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"casement.dev/casement/internal/testing/plane"
	"casement.dev/casement/internal/testing/repository"
)

var (
	from = flag.String("from", "", "revision whose manager TestUpgrade replaces; the last tag, or else 20 commits ago")
	load = flag.Int("load", 50, "machines that are being created while TestUpgradeUnderLoad replaces the manager")
)

// TestUpgrade runs the manager of an earlier revision, lets it make clusters of machines
// and of pools, and replaces it by the present one with clusterctl. Every object is kept
// as it was, no machine is made again, and Azure is asked to change nothing.
func TestUpgrade(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	o, releases := withEarlier(t)

	before, machines, asked := o.objects(), vms(o.plane), writes(o.plane)
	releases.Release(t, second)
	o.clusterctl("upgrade", "apply", "--contract", "v1beta2", "--wait-providers")
	if running := o.image(); !strings.HasSuffix(running, ":"+second) {
		t.Fatalf("after the upgrade the manager is %s", running)
	}
	// The new manager has seen an object when it has answered for a change of it: it
	// reconciles each of them at its start, and these are the last.
	o.plane.Run(nil, "kubectl", "scale", "machinedeployment", "single-md-win", "--replicas=2")
	o.plane.Run(nil, "kubectl", "wait", "machinedeployment", "single-md-win",
		"--for=jsonpath={.status.availableReplicas}=2", "--timeout=4m")
	after := o.objects()
	for id, was := range before {
		if now, ok := after[id]; !ok {
			t.Errorf("%s is gone", id)
		} else if diff := cmp.Diff(was, now); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", id, diff)
		}
	}
	now := vms(o.plane)
	added := len(now) - len(machines)
	maps.DeleteFunc(now, func(id, _ string) bool { return machines[id] == "" })
	if diff := cmp.Diff(machines, now); diff != "" || added != 1 {
		t.Errorf("machines changed, and %d were added (-before +after):\n%s", added, diff)
	}
	// One new machine: its network interface and its virtual machine, and its bootstrap
	// secret with the identity that may read it.
	want := maps.Clone(asked)
	for _, write := range []string{
		"PUT Microsoft.Network/networkInterfaces", "PUT Microsoft.Compute/virtualMachines",
		"PUT Microsoft.ManagedIdentity/userAssignedIdentities",
		"PUT Microsoft.Authorization/roleAssignments", "PUT Microsoft.KeyVault/vaults/secrets",
		"DELETE Microsoft.Authorization/roleAssignments", "DELETE Microsoft.KeyVault/vaults/secrets",
	} {
		want[write]++
	}
	eventually(t, "the new machine has no bootstrap secret any more", func() bool {
		return writes(o.plane)["DELETE Microsoft.KeyVault/vaults/secrets"] >= want["DELETE Microsoft.KeyVault/vaults/secrets"]
	})
	if diff := cmp.Diff(want, writes(o.plane)); diff != "" {
		t.Errorf("Azure was asked to change more than one machine needs (-want +got):\n%s", diff)
	}
	t.Logf("%d objects and %d virtual machines kept; writes before %v", len(before), len(machines), asked)
	for _, name := range []string{"single", "pooled"} {
		o.plane.Run(nil, "kubectl", "delete", "cluster", name, "--timeout=4m")
	}
}

// withEarlier runs the manager of an earlier revision with two clusters, "single" of machines and "pooled" of a pool.
func withEarlier(t *testing.T) (operator, repository.Repository) {
	t.Helper()
	tree, programs := earlier(t), t.TempDir()
	plane.Output(t, tree, "go", "build", "-o", filepath.Join(programs, "casement-manager_"+first), "./cmd/casement-manager")
	releases := published(t)
	plane.Output(t, tree, "go", "run", "./hack/release", "--dir", releases.Azure(first), "--image",
		repository.Image+first, "--version", first)
	o := operator{t: t, plane: plane.New(t, "CASEMENT_PROGRAMS="+programs)}
	o.plane.Run(nil, "up", "--bare")
	o.config = releases.Config(t, first, o.plane.Run(nil, "status", "-o", "clusterctl"))
	o.init("azure:" + first)
	for name, flavor := range map[string]string{"single": "windows", "pooled": "machinepool-windows"} {
		manifest := o.clusterctl("generate", "cluster", name, "--flavor", flavor, "--kubernetes-version", plane.Kubernetes(),
			"--control-plane-machine-count", "1", "--worker-machine-count", "1")
		o.plane.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	}
	for _, name := range []string{"single", "pooled"} {
		o.plane.Run(nil, "wait", name, "--timeout", "5m")
	}
	return o, releases
}

// TestUpgradeUnderLoad replaces the manager of an earlier revision while it creates machines and replaces the instances of a
// pool. Each machine is made once, and the pool ends whole.
func TestUpgradeUnderLoad(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	o, releases := withEarlier(t)
	kubectl := func(args ...string) string { return o.plane.Run(nil, append([]string{"kubectl"}, args...)...) }
	made, old := map[string]string{}, instances(o.plane)
	o.note(made, true)
	kubectl("scale", "machinepool", "pooled-mp-win", "--replicas=3")
	kubectl("wait", "machinepool", "pooled-mp-win", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=4m")
	kubectl("scale", "machinedeployment", "single-md-win", fmt.Sprint("--replicas=", *load))
	kubectl("patch", "azuremachinepool", "pooled-mp-win", "--type", "merge", "-p", `{"spec":{"template":{"vmSize":"Standard_D8s_v3"}}}`)
	eventually(t, "machines are being created", func() bool { return o.note(made, true) == 0 && len(vms(o.plane)) > *load/5 })
	begun := len(vms(o.plane))
	releases.Release(t, second)
	o.clusterctl("upgrade", "apply", "--contract", "v1beta2", "--wait-providers")
	at := len(vms(o.plane))
	if running := o.image(); !strings.HasSuffix(running, ":"+second) {
		t.Fatalf("after the upgrade the manager is %s", running)
	}
	twice := o.note(made, true)
	kubectl("wait", "machinedeployment", "single-md-win", fmt.Sprintf("--for=jsonpath={.status.availableReplicas}=%d", *load), "--timeout=10m")
	eventually(t, "the pool has new instances alone", func() bool {
		for id, number := range instances(o.plane) {
			if strings.Contains(id, "/virtualmachinescalesets/win") && old[id] == number {
				return false
			}
		}
		return kubectl("get", "machinepool", "pooled-mp-win", "-o", "jsonpath={.status.readyReplicas}") == "3"
	})
	twice += o.note(made, true)
	n := len(vms(o.plane))
	if twice+o.orphans() > 0 || n != len(o.machines()) {
		t.Errorf("%d virtual machines of %d machines; %d were made twice", n, len(o.machines()), twice)
	}
	t.Logf("%d of %d virtual machines were there when the upgrade began, %d when it had ended; %d were made in all", begun, n, at, len(made))
	for _, name := range []string{"single", "pooled"} {
		kubectl("delete", "cluster", name, "--timeout=8m")
	}
	var left struct{ Value []struct{ ID string } }
	o.plane.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		t.Errorf("the local Azure still holds %v", left.Value)
	}
}

// earlier returns the tree of an earlier revision.
func earlier(t *testing.T) string {
	t.Helper()
	revision := *from
	if revision == "" {
		revision = "HEAD~20"
		if tags := strings.Fields(string(plane.Output(t, ".", "git", "tag", "--merged", "HEAD", "--sort=-v:refname",
			"v*"))); len(tags) > 0 {
			revision = tags[0]
		}
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "tree.tar")
	plane.Output(t, plane.Root(t), "git", "archive", "-o", archive, revision)
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	plane.Output(t, dir, "tar", "-xf", archive, "-C", tree)
	t.Logf("from %s", strings.TrimSpace(string(plane.Output(t, ".", "git", "log", "-1", "--format=%h %s", revision))))
	return tree
}

// seen is what of an object an upgrade must not change.
type seen struct {
	UID, ProviderID string
	Generation      int64
}

// objects returns the objects of Cluster API and casement by kind and name. A
// MachineDeployment is left out, because scaling changes its generation and the objects
// that it owns are compared.
func (o operator) objects() map[string]seen {
	o.t.Helper()
	var list struct {
		Items []struct {
			Kind     string
			Metadata struct {
				Name, UID  string
				Generation int64
			}
			Spec struct{ ProviderID string }
		}
	}
	kinds := "clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io,machinepools.cluster.x-k8s.io,azureclusters," +
		"azuremachines,azuremachinetemplates,azuremachinepools,azuremachinepoolmachines,azureclusteridentities"
	if err := json.Unmarshal([]byte(o.plane.Run(nil, "kubectl", "get", kinds, "-o", "json")), &list); err != nil {
		o.t.Fatal(err)
	}
	out := map[string]seen{}
	for _, i := range list.Items {
		out[i.Kind+"/"+i.Metadata.Name] = seen{UID: i.Metadata.UID, ProviderID: i.Spec.ProviderID, Generation: i.Metadata.Generation}
	}
	return out
}

// writes counts what casement-manager asked Azure to change, by method and type.
func writes(p *plane.Plane) map[string]int {
	var calls struct {
		Counters []struct {
			Verb, Type, Caller string
			Count              int
		}
	}
	if err := json.Unmarshal([]byte(p.Run(nil, "calls", "-o", "json")), &calls); err != nil {
		return map[string]int{fmt.Sprint(err): 1}
	}
	out := map[string]int{}
	for _, c := range calls.Counters {
		if c.Verb != "GET" && c.Verb != "HEAD" && c.Caller == "casement" {
			out[c.Verb+" "+c.Type] += c.Count
		}
	}
	return out
}
