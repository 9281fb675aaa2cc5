package chaos

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// cluster is the cluster under test with its desired state.
type cluster struct {
	*scene
	pools   bool
	windows int // number of requested machines
	// vmIDs contains Azure's vmId of each infrastructure machine's VM, by the machine's UID; a VM
	// that is created again has another vmId. uids are the UIDs of objects that must not be lost.
	vmIDs, uids map[string]string
	kubeconfig  string
}

func (c *cluster) kind() string {
	if c.pools {
		return "pool"
	}
	return "machines"
}

// action is a change of the cluster by an operator.
type action struct {
	name string
	do   func(*cluster)
	// byHand is set for an action that itself calls Azure.
	byHand bool
}

// acts are the actions in the life of a cluster, in their order.
var acts = []action{
	{name: "create", do: (*cluster).create},
	{name: "scale up", do: func(c *cluster) { c.scale(3) }},
	{name: "repair", do: (*cluster).repair, byHand: true},
	{name: "upgrade", do: (*cluster).upgrade},
	{name: "scale down", do: func(c *cluster) { c.scale(1) }},
	{name: "delete", do: func(c *cluster) { c.must("kubectl", "delete", "cluster", "demo", "--wait=false") }},
}

func (c *cluster) create() {
	flavor := "windows"
	if c.pools {
		flavor = "machinepool-windows"
	}
	c.windows = 1
	manifest := c.must("generate", "cluster", "demo", "--flavor", flavor)
	c.p.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	c.must("kubectl", "delete", "configmap", "canary", "--ignore-not-found")
	c.must("kubectl", "create", "configmap", "canary", "--from-literal=seed="+fmt.Sprint(*seed))
}

// group returns the kind and name of the object that owns the Windows machines.
func (c *cluster) group() (kind, name string) {
	if c.pools {
		return "machinepool", "demo-mp-win"
	}
	return "machinedeployment", "demo-md-win"
}

func (c *cluster) scale(n int) {
	kind, name := c.group()
	c.windows = n
	c.must("kubectl", "scale", kind, name, "--replicas", fmt.Sprint(n))
}

// healthCheck is a MachineHealthCheck that replaces machines whose VM does not exist any more.
const healthCheck = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: demo-chaos, namespace: default}
spec:
  clusterName: demo
  selector: {matchExpressions: [{key: cluster.x-k8s.io/deployment-name, operator: Exists}]}
  checks:
    nodeStartupTimeoutSeconds: 600
    unhealthyNodeConditions:
    - {type: Ready, status: Unknown, timeoutSeconds: 60}
`

// repair deletes a VM in Azure without casement, which a MachineHealthCheck repairs.
func (c *cluster) repair() {
	if !c.pools {
		c.p.Run([]byte(healthCheck), "kubectl", "apply", "-f", "-")
	}
	for _, vm := range c.vms() {
		if strings.Contains(vm.ID, "-md-win-") || strings.Contains(vm.ID, "-md-w-") ||
			c.pools && strings.Contains(strings.ToLower(vm.ID), "win") {
			id := vm.ID[strings.Index(strings.ToLower(vm.ID), "/resourcegroups/"):]
			c.p.Azure("DELETE", id, computeVersion, nil)
			return
		}
	}
	c.t.Fatalf("there is no Windows VM: %v", c.vms())
}

func (c *cluster) upgrade() {
	if c.pools {
		c.must("kubectl", "annotate", "azuremachinepool", "demo-mp-win", "windowsServerVersion=windows-2025", "--overwrite")
		return
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(c.must("kubectl", "get", "azuremachinetemplate", "demo-md-win", "-o", "json")), &object); err != nil {
		c.t.Fatal(err)
	}
	object["metadata"] = map[string]any{"name": "demo-md-win-2025", "namespace": "default"}
	data, err := json.Marshal(object)
	if err != nil {
		c.t.Fatal(err)
	}
	c.p.Run([]byte(strings.ReplaceAll(string(data), "windows-2022", "windows-2025")), "kubectl", "apply", "-f", "-")
	c.must("kubectl", "patch", "machinedeployment", "demo-md-win", "--type", "merge", "-p",
		`{"spec":{"template":{"spec":{"infrastructureRef":{"name":"demo-md-win-2025"}}}}}`)
}

const computeVersion = "2024-07-01"

// settle waits until the cluster is in the desired state, and returns the missing parts if it does
// not reach that state.
func (c *cluster) settle(a action) (missing string) {
	deadline := time.Now().Add(patience)
	for {
		if a.name == "delete" {
			missing = c.remains()
		} else if missing = c.unrest(); missing == "" && a.name == "upgrade" {
			missing = c.outdated()
		}
		if missing == "" || time.Now().After(deadline) {
			return missing
		}
		time.Sleep(500 * time.Millisecond) // interval between two checks
	}
}

func (c *cluster) remains() string {
	out, err := c.p.Try(nil, "kubectl", "get",
		"clusters,machines,machinepools,azuremachines,azuremachinepools,azuremachinepoolmachines,azureclusters",
		"-o", "name")
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(out), " ")
}

// object contains the fields of objects of any kind that the test reads.
type object struct {
	Metadata struct {
		Name, UID, DeletionTimestamp string
		OwnerReferences              []struct{ Kind, Name string }
	}
	Spec struct {
		ProviderID     string
		ProviderIDList []string
		Replicas       int
	}
	Status struct {
		Phase      string
		Conditions []struct{ Type, Status string }
		NodeInfo   struct{ KernelVersion, OperatingSystem string }
		NodeRef    struct{ Name string }
	}
}

func (o object) is(condition string) bool {
	return slices.ContainsFunc(o.Status.Conditions,
		func(c struct{ Type, Status string }) bool { return c.Type == condition && c.Status == "True" })
}

// list returns the objects that kubectl get lists; ok is false if the API server did not answer.
func (c *cluster) list(args ...string) ([]object, bool) {
	out, err := c.p.Try(nil, append([]string{"kubectl"}, append(args, "-o", "json")...)...)
	if err != nil {
		return nil, false
	}
	var list struct{ Items []object }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.t.Fatal(err)
	}
	return list.Items, true
}

func (c *cluster) nodes() ([]object, bool) {
	if c.kubeconfig == "" {
		if _, err := c.p.Try(nil, "get", "kubeconfig", "demo"); err != nil {
			return nil, false
		}
		c.kubeconfig = c.p.Kubeconfig("demo")
	}
	return c.list("--kubeconfig", c.kubeconfig, "get", "nodes")
}

// owned returns the infrastructure machines of the cluster, including the machines of pools.
func (c *cluster) owned() ([]object, bool) {
	machines, ok := c.list("get", "azuremachines,azuremachinepoolmachines")
	return machines, ok
}

// unrest returns a difference from the desired state, or "".
func (c *cluster) unrest() string {
	machines, ok1 := c.list("get", "machines")
	infra, ok2 := c.owned()
	nodes, ok3 := c.nodes()
	if !ok1 || !ok2 || !ok3 {
		return "an API server does not answer"
	}
	want := 2 + c.windows // the control plane machine and the Linux machine too
	if len(infra) != want || len(nodes) != want {
		return fmt.Sprintf("%d infrastructure machines and %d nodes, not %d", len(infra), len(nodes), want)
	}
	for _, m := range machines {
		if m.Status.Phase != "Running" || m.Metadata.DeletionTimestamp != "" {
			return fmt.Sprintf("Machine %s is %s", m.Metadata.Name, m.Status.Phase)
		}
	}
	var ids []string
	for _, m := range infra {
		if m.Metadata.DeletionTimestamp != "" || m.Spec.ProviderID == "" {
			return m.Metadata.Name + " is on its way"
		}
		ids = append(ids, m.Spec.ProviderID)
	}
	for _, n := range nodes {
		if !n.is("Ready") || !slices.ContainsFunc(ids, func(id string) bool { return strings.EqualFold(id, n.Spec.ProviderID) }) {
			return fmt.Sprintf("node %s is not Ready, or of no machine", n.Metadata.Name)
		}
	}
	if vms := c.vms(); len(vms) != want {
		return fmt.Sprintf("%d VMs, not %d", len(vms), want)
	}
	return ""
}

// outdated returns the name of a node that has not been upgraded, or "" if there is none.
func (c *cluster) outdated() string {
	nodes, _ := c.nodes()
	for _, n := range nodes {
		if n.Status.NodeInfo.OperatingSystem == "windows" && !strings.HasPrefix(n.Status.NodeInfo.KernelVersion, "10.0.26100") {
			return fmt.Sprintf("node %s runs Windows %s", n.Metadata.Name, n.Status.NodeInfo.KernelVersion)
		}
	}
	return ""
}

// resource is a resource of the local Azure.
type resource struct{ ID, Type, State string }

func (c *cluster) resources() []resource {
	var out []resource
	if err := json.Unmarshal([]byte(c.must("azure", "resources", "-o", "json")), &out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

// vms returns the virtual machines and the instances of scale sets.
func (c *cluster) vms() []resource {
	return slices.DeleteFunc(c.resources(), func(r resource) bool {
		return !strings.EqualFold(r.Type, "Microsoft.Compute/virtualMachines") &&
			!strings.EqualFold(r.Type, "Microsoft.Compute/virtualMachineScaleSets/virtualMachines")
	})
}

// account counts the orphaned, duplicate and lost objects after an action.
func (c *cluster) account(a action) {
	c.accountProcesses(a)
	if a.name == "delete" {
		for _, r := range c.resources() {
			c.row.orphans++
			c.problem("%s is left in Azure", r.ID)
		}
		c.lost("canary", "get", "configmap", "canary")
		return
	}
	infra, ok := c.owned()
	if !ok {
		c.problem("the management API server does not answer")
		return
	}
	c.accountAzure(infra)
	for _, what := range []string{"cluster/demo", "kubeadmcontrolplane/demo-control-plane", "azurecluster/demo",
		"machinedeployment/demo-md-0", "configmap/canary"} {
		if c.pools && what == "machinedeployment/demo-md-0" {
			what = "machinepool/demo-mp-win"
		}
		c.lost(what, "get", what)
	}
	if _, known := c.uids["canary of the workload"]; !known {
		if _, err := c.p.Try(nil, "kubectl", "--kubeconfig", c.kubeconfig, "create", "configmap", "canary"); err != nil {
			c.problem("create a canary: %v", err)
		}
	}
	c.lost("canary of the workload", "--kubeconfig", c.kubeconfig, "get", "configmap", "canary")
}

// lost counts an object that does not exist any more or was created again.
func (c *cluster) lost(what string, args ...string) {
	uid, err := c.p.Try(nil, append([]string{"kubectl"}, append(args, "-o", "jsonpath={.metadata.uid}")...)...)
	was, known := c.uids[what]
	if err != nil && !known {
		c.problem("%s is not there yet: %v", what, err)
		return
	}
	if err != nil || known && was != uid {
		c.row.lost++
		c.problem("%s is lost: it was %q, and is %q (%v)", what, was, uid, err)
	}
	c.uids[what] = uid
}

// accountProcesses counts the processes of the plane that are not children of the supervisor, and
// the processes of deleted machines.
func (c *cluster) accountProcesses(a action) {
	supervisor := c.supervisor()
	for _, p := range c.processes() {
		switch {
		case p.pid == supervisor:
		case p.parent != supervisor:
			c.row.orphans++
			c.problem("process %d is not a child of the supervisor: %.200s", p.pid, p.line)
		case a.name == "delete" && workload(c.scene, p):
			c.row.orphans++
			c.problem("process %d is of a machine that is gone: %.200s", p.pid, p.line)
		}
	}
}

// accountAzure compares each VM, network interface and disk in Azure with the machines.
func (c *cluster) accountAzure(infra []object) {
	owners := map[string]object{}
	for _, m := range infra {
		owners[strings.ToLower(strings.TrimPrefix(m.Spec.ProviderID, "azure://"))] = m
	}
	names := map[string]bool{}
	for _, vm := range c.vms() {
		owner, ok := owners[strings.ToLower(vm.ID)]
		if !ok {
			c.row.orphans++
			c.problem("VM %s belongs to no machine", vm.ID)
			continue
		}
		names[strings.ToLower(path.Base(vm.ID))] = true
		var live struct {
			Properties struct {
				VMID string `json:"vmId"`
			}
		}
		c.p.ARM(vm.ID[strings.Index(strings.ToLower(vm.ID), "/resourcegroups/"):], computeVersion, &live)
		if was, known := c.vmIDs[owner.Metadata.UID]; known && was != live.Properties.VMID {
			c.row.duplicates++
			c.problem("the VM of %s was made twice: vmId %s, then %s", owner.Metadata.Name, was, live.Properties.VMID)
		}
		c.vmIDs[owner.Metadata.UID] = live.Properties.VMID
	}
	for _, r := range c.resources() {
		kind := strings.ToLower(r.Type)
		if kind != "microsoft.network/networkinterfaces" && kind != "microsoft.compute/disks" ||
			strings.Contains(strings.ToLower(r.ID), "/virtualmachinescalesets/") {
			continue
		}
		name := strings.ToLower(path.Base(r.ID))
		belongs := false
		for vm := range names {
			belongs = belongs || strings.HasPrefix(name, vm+"-nic") || strings.HasPrefix(name, vm+"_")
		}
		if !belongs && !c.pools {
			c.row.orphans++
			c.problem("%s belongs to no machine", r.ID)
		}
	}
}
