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
	"time"

	"github.com/google/go-cmp/cmp"

	"casement.dev/casement/internal/testing/plane"
	"casement.dev/casement/internal/testing/repository"
)

var (
	from = flag.String("from", "", "revision whose manager TestUpgrade replaces; the last tag, or else 20 commits ago")
	load = flag.Int("load", 50, "machines that are being created while TestUpgradeUnderLoad replaces the manager")

	upgrades = flag.Int("upgrades", 1, "how often TestUpgradeUnderLoad replaces the manager, forth and back")
)

// TestUpgrade runs the manager of an earlier revision, lets it create clusters of machines and of
// pools, and replaces it by the present manager with clusterctl. Every object is unchanged, no
// machine is created again, and casement makes no write to Azure.
func TestUpgrade(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	o, publish := withEarlier(t)

	before, machines, asked := o.objects(), vms(o.plane), writes(o.plane)
	o.upgrade(publish(1))
	// The new manager reconciles every object when it starts. These two changes come last, so when
	// it has handled them, it has reconciled all objects.
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
	// The expected writes are for one new machine: its network interface, its virtual machine, and
	// its bootstrap secret with the identity that may read it.
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

// withEarlier runs the manager of an earlier revision with two clusters: "single" with machines and
// "pooled" with a pool. publish publishes a release with a number: the present manager if the
// number is odd, the earlier one if it is even.
func withEarlier(t *testing.T) (o operator, publish func(number int) (version string)) {
	t.Helper()
	tree, programs := earlier(t), t.TempDir()
	manager := filepath.Join(programs, "casement-manager_"+first)
	plane.Output(t, tree, "go", "build", "-o", manager, "./cmd/casement-manager")
	releases := published(t)
	publish = func(number int) string {
		version := fmt.Sprintf("v0.1.%d", number)
		if number%2 == 1 {
			releases.Release(t, version)
			return version
		}
		plane.Output(t, tree, "go", "run", "./hack/release", "--dir", releases.Azure(version), "--image", repository.Image+version,
			"--version", version)
		if err := os.Symlink(manager, filepath.Join(programs, "casement-manager_"+version)); err != nil && number > 0 {
			t.Fatal(err)
		}
		return version
	}
	publish(0)
	o = operator{t: t, plane: plane.New(t, "CASEMENT_PROGRAMS="+programs)}
	o.plane.Run(nil, "up", "--bare")
	o.config = releases.Config(t, first, o.plane.Run(nil, "status", "-o", "clusterctl"))
	o.init("azure:" + first)
	for name, flavor := range map[string]string{"single": "windows", "pooled": "machinepool-windows"} {
		manifest := o.clusterctl("generate", "cluster", name, "--flavor", flavor, "--kubernetes-version", plane.Kubernetes(),
			"--control-plane-machine-count", "1", "--worker-machine-count", "1")
		o.plane.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	}
	for _, name := range []string{"single", "pooled"} {
		o.plane.Run(nil, "wait", name, "--timeout", "10m")
	}
	return o, publish
}

// upgrade replaces the manager by the manager of another release.
func (o operator) upgrade(version string) {
	o.t.Helper()
	o.clusterctl("upgrade", "apply", "--contract", "v1beta2", "--wait-providers")
	if running := o.image(); !strings.HasSuffix(running, ":"+version) {
		o.t.Fatalf("after the upgrade the manager is %s", running)
	}
}

// TestUpgradeUnderLoad replaces the manager of an earlier revision by the present one, then that by
// the earlier one, and so on, while the manager creates or deletes machines and replaces the
// instances of a pool. Each machine is created once, and the pool is complete in the end.
func TestUpgradeUnderLoad(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	o, publish := withEarlier(t)
	kubectl := func(args ...string) string { return o.plane.Run(nil, append([]string{"kubectl"}, args...)...) }
	made := map[string]string{}
	o.note(made, true)
	kubectl("scale", "machinepool", "pooled-mp-win", "--replicas=3")
	kubectl("wait", "machinepool", "pooled-mp-win", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=10m")
	table := fmt.Sprintf("%-8s %-8s %8s %7s %5s %5s %6s %8s\n", "MANAGER", "WHILE", "TOOK", "BEFORE", "THEN", "AFTER", "TWICE", "ORPHANS")
	for i := range *upgrades {
		version, since, before := publish(i+1), time.Now(), len(vms(o.plane))
		does, replicas, size := "creating", *load, "Standard_D8s_v3"
		if i%2 == 1 {
			does, replicas, size = "deleting", 1+*load/5, "Standard_D4s_v3"
		}
		old := instances(o.plane)
		kubectl("scale", "machinedeployment", "single-md-win", fmt.Sprint("--replicas=", replicas))
		kubectl("patch", "azuremachinepool", "pooled-mp-win", "--type", "merge", "-p", `{"spec":{"template":{"vmSize":"`+size+`"}}}`)
		twice := 0
		eventually(t, "the machines change", func() bool {
			twice += o.note(made, true)
			return max(len(vms(o.plane)), before)-min(len(vms(o.plane)), before) > *load/10
		})
		begun := len(vms(o.plane))
		o.upgrade(version)
		twice += o.note(made, true)
		kubectl("wait", "machinedeployment", "single-md-win", fmt.Sprintf("--for=jsonpath={.status.availableReplicas}=%d", replicas),
			"--timeout=15m")
		eventually(t, "the pool has new instances alone", func() bool {
			for id, number := range instances(o.plane) {
				if strings.Contains(id, "/virtualmachinescalesets/win") && old[id] == number {
					return false
				}
			}
			return kubectl("get", "machinepool", "pooled-mp-win", "-o", "jsonpath={.status.readyReplicas}") == "3"
		})
		eventually(t, "there are as many virtual machines as machines", func() bool { return len(vms(o.plane)) == len(o.machines()) })
		twice += o.note(made, true)
		orphans := o.orphans()
		if twice+orphans > 0 {
			t.Errorf("upgrade %d: %d virtual machines were made twice, %d have no object", i+1, twice, orphans)
		}
		row := fmt.Sprintf("%-8s %-8s %6.0f s %7d %5d %5d %6d %8d", version, does, time.Since(since).Seconds(), before, begun,
			len(vms(o.plane)), twice, orphans)
		t.Log(row)
		table += row + "\n"
	}
	t.Logf("%d virtual machines were made in all; odd releases are the present manager\n%s", len(made), table)
	for _, name := range []string{"single", "pooled"} {
		kubectl("delete", "cluster", name, "--timeout=15m")
	}
	var left struct{ Value []struct{ ID string } }
	o.plane.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		t.Errorf("the local Azure still holds %v", left.Value)
	}
}

// earlier returns the folder with the source tree of an earlier revision.
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

// seen contains the fields of an object that an upgrade must not change.
type seen struct {
	UID, ProviderID string
	Generation      int64
}

// objects returns the objects of Cluster API and casement by kind and name. MachineDeployments are
// left out, because scaling changes their generation; the objects that they own are compared.
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

// writes returns the number of casement-manager's writes to Azure, by method and type.
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
