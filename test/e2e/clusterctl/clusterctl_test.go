package clusterctl

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"casement.dev/casement/internal/testing/plane"
	"casement.dev/casement/internal/testing/repository"
)

var full = flag.Bool("full", false, "do all of it, which takes minutes; make e2e-clusterctl does")

// Releases of casement in the repository.
const (
	first  = "v0.1.0"
	second = "v0.1.1"
)

// published returns a repository that contains the first of these releases.
func published(t *testing.T) repository.Repository {
	t.Helper()
	r := repository.New(t)
	r.Release(t, first)
	return r
}

// operator runs clusterctl against one management cluster.
type operator struct {
	t      *testing.T
	plane  *plane.Plane
	config string
}

// clusterctlTimeout limits one command.
const clusterctlTimeout = 10 * time.Minute

func (o operator) clusterctl(args ...string) string {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), clusterctlTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, plane.Binary(o.t, "clusterctl"), append([]string{"--config", o.config}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(o.plane.Home, "kubeconfig"),
		"CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+filepath.Dir(o.config))
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		o.t.Fatalf("clusterctl %s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), problems.Bytes())
	}
	return out.String() + problems.String()
}

// machines returns the AzureMachines by name, each with the fields that must not change.
func (o operator) machines() map[string]string {
	o.t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ ProviderID string }
		}
	}
	if err := json.Unmarshal([]byte(o.plane.Run(nil, "kubectl", "get", "azuremachines", "-o", "json")), &list); err != nil {
		o.t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range list.Items {
		out[m.Metadata.Name] = m.Spec.ProviderID
	}
	return out
}

const computeAPI = "2024-07-01"

// vms returns, by ID, the vmId of the virtual machines of the local Azure. Azure gives each new
// virtual machine another vmId.
func vms(p *plane.Plane) map[string]string {
	var list struct {
		Value []struct {
			ID         string
			Properties struct{ VMID string }
		}
	}
	p.ARM("/providers/Microsoft.Compute/virtualMachines", computeAPI, &list)
	out := map[string]string{}
	for _, v := range list.Value {
		out[strings.ToLower(v.ID)] = v.Properties.VMID
	}
	return out
}

// TestRepository checks that every release declares its contract and contains no image of a
// development branch.
func TestRepository(t *testing.T) {
	r := published(t)
	for _, p := range repository.Providers() {
		versions, err := filepath.Glob(filepath.Join(r.Dir, p.Label, "*", p.File))
		if err != nil || len(versions) != 1 {
			t.Fatalf("%s has %v, %v", p.Label, versions, err)
		}
		components, err := os.ReadFile(versions[0])
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(components, []byte(":main")) || bytes.Contains(components, []byte("image: IMAGE")) {
			t.Errorf("%s has an image of no release", p.Label)
		}
		metadata, err := os.ReadFile(filepath.Join(filepath.Dir(versions[0]), "metadata.yaml"))
		if err != nil || !bytes.Contains(metadata, []byte("contract: v1beta2")) {
			t.Errorf("%s has no metadata for the contract v1beta2: %v", p.Label, err)
		}
	}
}

// TestOperator runs the steps of an operator, from the installation of a provider to the deletion
// of a cluster, with clusterctl.
func TestOperator(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	releases := published(t)
	source := operator{t: t, plane: plane.New(t)}
	source.plane.Run(nil, "up", "--bare")
	source.config = releases.Config(t, first, source.plane.Run(nil, "status", "-o", "clusterctl"))
	source.init("azure:" + first)

	manifest := source.clusterctl("generate", "cluster", "demo", "--flavor", "windows", "--kubernetes-version",
		plane.Kubernetes(), "--control-plane-machine-count", "1", "--worker-machine-count", "1")
	source.plane.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	t.Log(source.plane.Run(nil, "wait", "demo", "--timeout", "4m"))
	source.described()

	before, azure := source.machines(), vms(source.plane)
	if len(before) != 3 || len(azure) != 3 {
		t.Fatalf("machines %v, virtual machines %v; want 3", before, azure)
	}
	releases.Release(t, second)
	if plan := source.clusterctl("upgrade", "plan"); !strings.Contains(plan, second) {
		t.Errorf("the plan does not offer %s:\n%s", second, plan)
	}
	source.clusterctl("upgrade", "apply", "--contract", "v1beta2", "--wait-providers")
	if image := source.image(); !strings.HasSuffix(image, ":"+second) {
		t.Errorf("after the upgrade the manager is %s", image)
	}
	if plan := source.clusterctl("upgrade", "plan"); !strings.Contains(plan, "already up to date") {
		t.Errorf("after the upgrade the plan is\n%s", plan)
	}
	source.described()
	if diff := cmp.Diff(before, source.machines()) + cmp.Diff(azure, vms(source.plane)); diff != "" {
		t.Errorf("the upgrade changed machines (-before +after):\n%s", diff)
	}

	target := operator{t: t, plane: plane.New(t), config: source.config}
	target.plane.Run(nil, "up", "--bare", "--azure-of", source.plane.Home)
	target.init("azure:" + second)
	// clusterctl refuses to move while a machine has no node.
	source.clusterctl("move", "--to-kubeconfig", filepath.Join(target.plane.Home, "kubeconfig"))
	if left := source.plane.Run(nil, "kubectl", "get", "cluster-api", "-o", "name"); strings.TrimSpace(left) != "" {
		t.Errorf("the move left %s", left)
	}
	t.Log(target.plane.Run(nil, "wait", "demo", "--timeout", "2m"))
	if diff := cmp.Diff(before, target.machines()) + cmp.Diff(azure, vms(source.plane)); diff != "" {
		t.Errorf("the move changed machines (-before +after):\n%s", diff)
	}
	target.plane.Run(nil, "kubectl", "scale", "machinedeployment", "demo-md-win", "--replicas=2")
	target.plane.Run(nil, "kubectl", "wait", "machinedeployment", "demo-md-win",
		"--for=jsonpath={.status.availableReplicas}=2", "--timeout=3m")
	after := vms(source.plane)
	if len(after) != 4 {
		t.Errorf("after the move no new machine comes up: %v", after)
	}
	maps.DeleteFunc(after, func(id, _ string) bool { return azure[id] == "" })
	if diff := cmp.Diff(azure, after); diff != "" {
		t.Errorf("machines were replaced (-before +after):\n%s", diff)
	}
	target.plane.Run(nil, "kubectl", "delete", "cluster", "demo", "--timeout=3m")
	var left struct{ Value []struct{ ID string } }
	source.plane.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		t.Errorf("the local Azure still holds %v", left.Value)
	}
}

// init installs the providers and the addons.
func (o operator) init(azure string) {
	o.t.Helper()
	said := o.clusterctl("init", "--infrastructure", azure, "--wait-providers", "--wait-provider-timeout", "120")
	if !strings.Contains(said, "initialized successfully") {
		o.t.Errorf("clusterctl init said\n%s", said)
	}
	o.plane.Run([]byte(o.plane.Run(nil, "generate", "addons")), "kubectl", "apply", "--server-side", "-f", "-")
}

// described waits until clusterctl describe shows the cluster as available, and each of casement's
// objects as ready below its owner.
func (o operator) described() {
	o.t.Helper()
	var said string
	for range 60 {
		said = o.clusterctl("describe", "cluster", "demo", "--color=false", "--echo")
		ours := 0
		for line := range strings.Lines(said) {
			f := strings.Fields(strings.TrimLeft(line, " │├└─"))
			if len(f) > 3 && (f[0] == "AzureCluster" || f[0] == "AzureMachine") && f[2] == "True" && f[3] == "Ready" {
				ours++
			}
		}
		for line := range strings.Lines(said) {
			if f := strings.Fields(line); len(f) > 6 && f[0] == "Cluster" && f[2] == "3/3" && f[6] == "True" && ours == 4 {
				o.t.Log("\n" + said)
				return
			}
		}
		<-time.After(time.Second)
	}
	o.t.Errorf("clusterctl describe shows no available cluster of 3 machines, each with a ready AzureMachine:\n%s", said)
}

func (o operator) image() string {
	o.t.Helper()
	return strings.TrimSpace(o.plane.Run(nil, "kubectl", "get", "deployment", "-n", "casement-system",
		"casement-controller-manager", "-o", "jsonpath={.spec.template.spec.containers[0].image}"))
}
