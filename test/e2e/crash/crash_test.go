package crash

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	moments = flag.Int("moments", 4, "how many times to kill the supervisor; make e2e has 20")
	seed    = flag.Uint64("seed", 20348, "of the moments")
)

// longest is the time in which a cluster is created; the moments of the crashes are chosen within
// it.
const longest = 9 * time.Second

func TestCrash(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 0))
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1")
	p.Run(nil, "up")
	p.Create("demo", "windows")
	vms := map[string]string{}
	for i := range *moments {
		after := time.Duration(random.Int64N(int64(longest)))
		if i == *moments-1 {
			p.Run(nil, "kubectl", "delete", "cluster", "demo", "--wait=false")
			after /= 4
		} else if replicas := random.IntN(6); i > 1 && replicas > 0 {
			p.Run(nil, "kubectl", "scale", "machinedeployment", "demo-md-win", fmt.Sprint("--replicas=", min(replicas, 3)))
		}
		time.Sleep(after) // the test needs this moment
		note(t, p, vms)
		p.Kill()
		p.Run(nil, "up")
		t.Logf("moment %d: killed after %s", i+1, after.Round(time.Millisecond))
		note(t, p, vms)
		if i == *moments-2 {
			p.Run(nil, "wait", "demo", "--timeout", "5m")
			accounted(t, p)
		}
	}
	p.Run(nil, "wait", "demo", "--for", "deleted", "--timeout", "3m")
	var left resources
	p.ARM("/resources", "2021-04-01", &left)
	if len(left.Value) > 0 {
		t.Errorf("the local Azure still holds %v", left.names())
	}
}

type resources struct {
	Value []struct{ ID string }
}

func (r resources) names() (out []string) {
	for _, v := range r.Value {
		out = append(out, v.ID[strings.LastIndex(v.ID, "/providers/")+len("/providers/"):])
	}
	slices.Sort(out)
	return out
}

// note records the vmId of each VM and fails the test if Azure created a VM again, which gives it
// another vmId.
func note(t *testing.T, p *plane.Plane, seen map[string]string) {
	t.Helper()
	var list struct {
		Value []struct {
			Name       string
			Properties struct {
				VMID string `json:"vmId"`
			}
		}
	}
	p.ARM("/providers/Microsoft.Compute/virtualMachines", "2024-07-01", &list)
	for _, vm := range list.Value {
		if vm.Properties.VMID == "" {
			t.Errorf("VM %s has no vmId", vm.Name)
		}
		if was, ok := seen[vm.Name]; ok && was != vm.Properties.VMID {
			t.Errorf("VM %s was created twice: vmId %s, then %s", vm.Name, was, vm.Properties.VMID)
		}
		seen[vm.Name] = vm.Properties.VMID
	}
}

// accounted compares the machines of the cluster with the local Azure: each has one VM, one NIC,
// one OS disk and one Node.
func accounted(t *testing.T, p *plane.Plane) {
	t.Helper()
	machines := strings.Fields(p.Run(nil, "kubectl", "get", "azuremachines", "-o", "jsonpath={.items[*].spec.providerID}"))
	var want []string
	for _, id := range machines {
		name := id[strings.LastIndex(id, "/")+1:]
		want = append(want, "Microsoft.Compute/virtualMachines/"+name, "Microsoft.Compute/disks/"+name+"_OSDisk",
			"Microsoft.Network/networkInterfaces/"+name+"-nic")
	}
	slices.Sort(want)
	var all resources
	p.ARM("/resources", "2021-04-01", &all)
	got := slices.DeleteFunc(all.names(), func(n string) bool {
		kind, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(n, "Microsoft.Compute/"), "Microsoft.Network/"), "/")
		return !slices.Contains([]string{"virtualMachines", "disks", "networkInterfaces"}, kind) || strings.HasSuffix(n, "_etcddisk")
	})
	if !slices.Equal(got, want) {
		t.Errorf("the local Azure has\n%v\nwant for the machines\n%v", got, want)
	}
	nodes := strings.Fields(p.Workload("demo")("get", "nodes", "-o", "name"))
	if len(nodes) != len(machines) {
		t.Errorf("%d machines have the nodes %v", len(machines), nodes)
	}
}
